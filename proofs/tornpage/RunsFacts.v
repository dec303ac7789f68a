(* SPDX-License-Identifier: PostgreSQL *)
(** * An observed run that is accepted is a run; and what a recovery that ends has made of it *)
From Pgquern.common Require Import Naturals.
From Pgquern.tornpage Require Import Faults Replays Holds Survives Runs.

Section Runs.
  Context {sector delta : Type}.
  Notation page := (list sector).
  Notation record := (record sector delta).
  Context (sector_dec : forall x y : sector, {x = y} + {x <> y}) (delta_dec : forall x y : delta, {x = y} + {x <> y}).
  Context (pr : protection) (room : nat) (lsn : page -> nat) (apply : nat -> delta -> page -> page) (empty : page).
  Notation state := (state apply empty).
  Notation step := (step pr room lsn apply).
  Notation run := (run pr room lsn apply).
  Notation all_allowed := (all_allowed pr room lsn apply).
  Notation Inv := (Inv pr room lsn apply empty).
  Notation may_be_read := (may_be_read sector_dec delta_dec pr).
  Notation contents_of := (contents_of sector_dec delta_dec).
  Notation event_told := (event_told sector_dec delta_dec pr).
  Notation told := (told sector_dec delta_dec pr room lsn apply).

  (** ** The check *)
  Lemma among_in {A} (dec : forall x y : A, {x = y} + {x <> y}) m x : among dec m x = true -> In x m.
  Proof. unfold among. destruct (in_dec dec x m); [auto|discriminate]. Qed.

  Lemma whole_or_nothing_of {A} (dec : forall x y : option A, {x = y} + {x <> y}) m x :
    whole_or_nothing_b dec m x = true -> whole_or_nothing m x.
  Proof.
    intros H. apply orb_true_iff in H as [H|H]; [left; now apply among_in in H|]. destruct x as [x|]; [discriminate|].
    right. split; [reflexivity|]. unfold torn_b in H. destruct m as [|y m]; [discriminate|]. cbn in H.
    apply negb_true_iff in H. assert (exists z, In z m /\ z <> y) as (z & Z & N).
    { clear -H. induction m as [|z m IH]; [discriminate|]. cbn in H. destruct (dec z y) as [E|N].
      - destruct (IH H) as (v & V & N). exists v. split; [now right|exact N].
      - exists z. split; [now left|exact N]. }
    exists z, y. repeat split; [now right|now left|exact N].
  Qed.

  Lemma columns_of : forall q m, columns_b sector_dec m q = true ->
    forall i s, nth_error q i = Some s -> exists w, In w m /\ nth_error w i = Some s.
  Proof.
    induction q as [|x q IH]; intros m H i s E; [destruct i; discriminate|]. cbn in H. apply andb_true_iff in H as (H & R).
    destruct i as [|i].
    - cbn in E. injection E as ->. apply existsb_exists in H as (w & W & D). destruct w as [|y w]; [discriminate|].
      destruct (sector_dec y s) as [->|]; [|discriminate]. now exists (s :: w).
    - destruct (IH _ R i s E) as (w & W & D). apply in_map_iff in W as (v & <- & V). exists v. split; [exact V|].
      destruct v; [now destruct i|exact D].
  Qed.

  Lemma mixture_of m q : mixture_b sector_dec pr m q = true -> mixture pr m q.
  Proof.
    unfold mixture_b, mixture. assert (existsb (fun w => length w =? length q) m && columns_b sector_dec m q = true -> sector_by_sector m q).
    { intros H. apply andb_true_iff in H as (L & H). apply existsb_exists in L as (w & W & L). apply Nat.eqb_eq in L. split.
      - exists w. split; [exact W|now symmetry].
      - now apply columns_of. }
    destruct pr; auto. apply among_in.
  Qed.

  Lemma read_is_left (d : device sector delta) o : Seen pr d -> may_be_read d o = true -> may_be_left pr d (contents_of d o).
  Proof.
    intros (S & _) H. unfold Runs.may_be_read in H.
    apply andb_true_iff in H as (H & C). apply andb_true_iff in H as (H & A). apply andb_true_iff in H as (L & D).
    repeat split; [|now apply mixture_of|now apply whole_or_nothing_of in A|now apply among_in in C].
    intros n. cbn. rewrite forallb_forall in L.
    set (r := redo_point (control_read o)) in *. set (k := length (records_read o)) in *.
    destruct (in_dec Nat.eq_dec n (seq (Datatypes.S r) (Datatypes.S k))) as [I|I]; [now apply L, whole_or_nothing_of in I|].
    rewrite in_seq in I. unfold log_of. fold r k. cbv zeta. destruct (Nat.leb_spec n r); [apply S|].
    destruct (Nat.leb_spec n (r + k)); [lia|]. destruct (Nat.eqb_spec n (Datatypes.S (r + k))); [lia|apply S].
  Qed.

  Hypothesis apply_lsn : forall n d p, lsn (apply n d p) = n.
  Hypothesis empty_lsn : lsn empty = 0.

  Lemma event_allowed w i e : Inv w -> event_told w i = Some e -> allowed pr w e.
  Proof.
    intros (S & _) H. destruct i as [e'|o|o]; cbn in H.
    - destruct e'; try discriminate; injection H as <-; exact I.
    - destruct (may_be_read (dev (now w)) o) eqn:R; [|discriminate]. injection H as <-. now apply read_is_left.
    - destruct (may_be_read (dev (now w)) o) eqn:R; [|discriminate]. injection H as <-. cbn.
      destruct (program w); [exact I|now apply read_is_left].
  Qed.

  Lemma told_is_a_run inputs : forall w v, Inv w -> told w inputs = Some v ->
    exists events, all_allowed w events /\ v = run w events /\ length events = length inputs.
  Proof.
    induction inputs as [|i inputs IH]; intros w v I H; [injection H as <-; now exists []|].
    cbn in H. unfold advance in H. destruct (event_told w i) as [e|] eqn:E; [|discriminate].
    assert (A := event_allowed w i e I E).
    destruct (IH (step w e) v) as (events & B & -> & L); [now apply inv_step|exact H|].
    exists (e :: events). cbn. now rewrite L.
  Qed.

  (** What a test tells, step by step, and the extracted program accepts, is a run of the theorems: its events are allowed.  So
      all that they say holds of it, for instance: while a process runs, its page is as the first changes have left it, so many
      as recovery has found of the log, and all that were promised are among them. *)
  Theorem what_is_told_is_a_run inputs w : told (new empty) inputs = Some w ->
    (exists events, all_allowed (new empty) events /\ w = run (new empty) events /\ length events = length inputs) /\
    (program w <> None -> acked (now w) <= insert (proc (now w)) <= length (made (now w)) /\
       mem (proc (now w)) = state (made (now w)) (insert (proc (now w)))).
  Proof.
    intros H. assert (R := told_is_a_run inputs _ _ (inv_new pr room lsn apply empty empty_lsn) H). split; [exact R|].
    destruct R as (events & A & -> & _). now apply what_was_promised_survives.
  Qed.

  (** ** A recovery that ends *)

  (** Operations that do not end a flush or a recovery leave alone what is known of the history. *)
  Definition plain (o : op sector delta) : bool := match o with Flushed | Moved | Opened => false | _ => true end.
  Lemma plain_go o s : plain o = true -> insert (proc (go o s)) = insert (proc s) /\ mem (proc (go o s)) = mem (proc s) /\
    made (go o s) = made s /\ acked (go o s) = acked s.
  Proof. intros P. destruct o; try discriminate; cbn; auto. now destruct (unsynced (proc s)). Qed.

  Lemma plain_run ops rest : forallb plain ops = true -> forall s, exists t,
    run (World s (Some (ops ++ rest))) (repeat Go (length ops)) = World t (Some rest) /\
    insert (proc t) = insert (proc s) /\ mem (proc t) = mem (proc s) /\ made t = made s /\ acked t = acked s.
  Proof.
    induction ops as [|o ops IH]; intros P s; [exists s; now repeat split|]. cbn in P. apply andb_true_iff in P as (P & Q).
    destruct (IH Q (go o s)) as (t & R & A & B & C & D). destruct (plain_go o s P) as (A' & B' & C' & D').
    exists t. cbn. rewrite <- A', <- B', <- C', <- D'. auto.
  Qed.

  Lemma log_plain e l : forall n, forallb plain (log_ops e n l) = true.
  Proof. induction l as [|c l IH]; intros n; [reflexivity|apply IH]. Qed.
  Lemma place_plain q : forallb plain (place_ops pr q) = true.
  Proof. unfold place_ops. now destruct pr. Qed.

  Lemma again_ends c found a p : exists ops, again pr c found a p = ops ++ [Opened] /\ forallb plain ops = true.
  Proof.
    exists ([WriteControl c; SyncControl] ++ log_ops (control_epoch c) (redo_point c) found ++ [SyncLog] ++
      match restored pr a with Some q => [WriteArea q; SyncArea; WriteData q] | None => [] end ++
      (if first p =? 0 then [] else place_ops pr (mem p)) ++
      [SyncData; WriteControl (Control (insert p) (S (epoch p))); SyncControl]).
    split; [unfold again; now rewrite <- !app_assoc|]. rewrite !forallb_app, log_plain.
    destruct (restored pr a); destruct (first p =? 0); rewrite ?place_plain; reflexivity.
  Qed.

  (** Whatever came before, however often a recovery was stopped: one that is let alone ends, after as many operations as it
      has.  It never refuses a page as torn.  The store is then open, and all that is left of the history are its first k
      records: k is where the log ends that was read.  What was read of the log are these records, from the redo point on;
      all that were promised are among them; the page is exactly as they have left it; and all k are promised from now on. *)
  Theorem a_recovery_that_ends_has_what_the_log_has events : all_allowed (new empty) events ->
    let w := run (new empty) events in
    let s := now w in
    let c := seen (ctl (dev s)) in
    let found := read_log (control_epoch c) (fun n => seen (log (dev s) n)) (redo_point c) room in
    let k := redo_point c + length found in
    let steps := length (snd (recovering pr room lsn apply s)) in
    let t := run w (Recover :: repeat Go steps) in
    program w = None ->
    program t = Some [] /\
    found = firstn (length found) (skipn (redo_point c) (made s)) /\
    acked s <= k <= length (made s) /\
    made (now t) = firstn k (made s) /\ insert (proc (now t)) = k /\ acked (now t) = k /\
    mem (proc (now t)) = state (made s) k.
  Proof.
    intros A w s c found k steps t N.
    destruct (inv_run pr room lsn apply empty apply_lsn empty_lsn events _ (inv_new pr room lsn apply empty empty_lsn) A) as (S & H).
    fold w in S, H. rewrite N in H. fold s in S, H.
    destruct (H c) as (h & f & F); [apply S|].
    destruct (recovered pr room lsn apply empty apply_lsn empty_lsn (dev s) c (made s) (acked s) h f F S) as (F1 & F2 & F3).
    fold found in F1, F2, F3. fold k in F2, F3.
    assert (P : h = firstn (length h) (made s)) by apply F. assert (Ac : acked s <= f) by apply F.
    assert (Len : length h <= length (made s)) by (rewrite P, firstn_length; lia).
    assert (Pr : state h k = state (made s) k) by (rewrite P; apply state_firstn; lia).
    assert (E : run w [Recover] = World (with_proc s (fst (recovering pr room lsn apply s))) (Some (snd (recovering pr room lsn apply s)))).
    { unfold Faults.run. cbn [fold_left]. unfold s. destruct w as [v q]. cbn in N. subst q. reflexivity. }
    set (p := fst (recovering pr room lsn apply s)) in *.
    assert (Ip : insert p = k) by reflexivity.
    assert (Mp : mem p = state h k) by exact F3.
    destruct (again_ends c found (seen (area (dev s))) p) as (ops & O & Q).
    assert (O' : snd (recovering pr room lsn apply s) = ops ++ [Opened]) by exact O.
    destruct (plain_run ops [Opened] Q (with_proc s p)) as (u & R & I1 & M1 & M2 & A1).
    assert (T : t = World (go Opened u) (Some [])).
    { unfold t, steps. change (run w (Recover :: ?l)) with (run (run w [Recover]) l).
      unfold Faults.run in *. cbn [fold_left]. cbn [fold_left] in E. rewrite E, O', app_length, repeat_app, fold_left_app.
      cbn [length]. rewrite R. reflexivity. }
    assert (I2 : insert (proc u) = k) by exact I1.
    assert (M3 : mem (proc u) = state (made s) k) by (rewrite M1; exact (eq_trans Mp Pr)).
    assert (M4 : made u = made s) by exact M2.
    rewrite T. cbn [program now go made acked proc set_open insert mem]. rewrite I2, M3, M4.
    repeat split; try lia; auto.
    rewrite F1 at 1. unfold part. rewrite P at 1. clear -F2 F3 Len P.
    rewrite skipn_firstn_comm, firstn_firstn. f_equal. unfold k in F2. lia.
  Qed.
End Runs.
