(* SPDX-License-Identifier: PostgreSQL *)
(** * How the printed loops pack an array: for registers of any width

    A loop reads XIDs from `from` on, and stores those that stay down to `to`, register by register.  Between what stays and
    what has not been read stands what is not needed.  What stays of the first XIDs, and what else a round needs once [n] have
    been read, is an argument: so the purge and the compression, on each instruction set, have these lemmas in common. *)
From Coq Require Import String.
From Pgquern.common Require Import Integers ListFacts.
From Pgquern.instructions Require Import Lanes Memory Program ProgramFacts.
Local Open Scope string_scope.
Local Open Scope list_scope.
Local Open Scope Z_scope.

Notation words l := (there (register_of 4 l)).

(** Statements store [l] where `to` points and move it past them.  They may write a register of [lanes], and change [own]. *)
Definition stores (lanes : nat) (own : list string) (l : list Z) (statements : list statement) (s : state) : Prop :=
  forall A junk C, env s "to" = Some (Address 4 (Z.of_nat (length A))) -> memory s = A ++ there junk ++ C ->
  (4 * lanes <= length junk)%nat -> exists s' junk', run_statements statements s = Some s' /\
    memory s' = (A ++ words l) ++ there junk' ++ C /\ (length junk' + 4 * length l = length junk)%nat /\
    env s' "to" = Some (Address 4 (Z.of_nat (length (A ++ words l)))) /\
    forall y, existsb (String.eqb y) ("to" :: own) = false -> env s' y = env s y.

Section packing.
  Context (before behind : cells) (stale data : list Z) (lanes : nat) (stays : list Z -> list Z) (ready : nat -> state -> Prop).
  Context (Nothing : stays [] = []) (Fewer : forall l, (length (stays l) <= length l)%nat).

  (* Of what has been read, as many as [n], [done] has been stored, and [todo] is to be read. *)
  Definition packed (n : nat) (done todo : list Z) (s : state) : Prop := exists junk,
    memory s = (before ++ words (stays done)) ++ there junk ++ words todo ++ behind /\
    (length junk + 4 * length (stays done) = 4 * (length stale + n))%nat /\
    env s "to" = Some (Address 4 (Z.of_nat (length (before ++ words (stays done))))).

  Definition pointers (n : nat) (s : state) : Prop :=
    env s "from" = Some (Address 4 (Z.of_nat (length before + 4 * (length stale + n)))) /\
    env s "end" = Some (Address 4 (Z.of_nat (length before + 4 * (length stale + length data)))) /\ ready n s.

  Definition left (d : nat) (s : state) : Prop := exists done todo k,
    data = done ++ todo /\ length todo = d /\ length done = (k * lanes)%nat /\
    packed (length done) done todo s /\ pointers (length done) s.

  Lemma left_distance d s : left d s -> distance s "from" "end" = Some (Z.of_nat d).
  Proof.
    intros (done & todo & k & D & L & _ & _ & F & E & _). eapply distance_is; [exact F| |lia]. rewrite E. do 2 f_equal.
    rewrite D, app_length. lia.
  Qed.

  Lemma left_at_first s : memory s = before ++ words (stale ++ data) ++ behind ->
    env s "to" = Some (Address 4 (Z.of_nat (length before + 4 * 0))) ->
    env s "from" = Some (Address 4 (Z.of_nat (length before + 4 * length stale))) ->
    env s "end" = Some (Address 4 (Z.of_nat (length before + 4 * (length stale + length data)))) -> ready 0 s ->
    left (length data) s.
  Proof.
    intros M T F E R. exists [], data, 0%nat. repeat (split; [reflexivity|]). split.
    - exists (register_of 4 stale). rewrite Nothing, M, T, words_app, there_app, <- !app_assoc, words_length. cbn [length].
      repeat split; [lia|]. do 3 f_equal. rewrite app_length. cbn. lia.
    - split; [rewrite F; do 3 f_equal; cbn; lia|]. auto.
  Qed.

  (* What has been read is not needed where it stood. *)
  Lemma read n done now todo s : packed n done (now ++ todo) s -> packed (n + length now) done todo s.
  Proof.
    intros (junk & M & J & T). exists (junk ++ register_of 4 now). rewrite M, words_app, !there_app, <- !app_assoc.
    rewrite app_length, words_length. repeat split; [lia|exact T].
  Qed.

  Lemma stored own l statements n done now todo s : stores lanes own l statements s -> packed n done todo s ->
    (length done + lanes <= n)%nat -> stays (done ++ now) = stays done ++ l -> exists s',
    run_statements statements s = Some s' /\ packed n (done ++ now) todo s' /\
    forall y, existsb (String.eqb y) ("to" :: own) = false -> env s' y = env s y.
  Proof.
    intros S (junk & M & J & T) N E. pose proof (Fewer done) as F.
    destruct (S _ _ _ T M ltac:(lia)) as (s' & junk' & R & M' & J' & T' & O). exists s'. split; [exact R|]. split; [|exact O].
    exists junk'. rewrite E, words_app, there_app, (app_assoc before), app_length. repeat split; [exact M'|lia|exact T'].
  Qed.

  Lemma loads t f : known f Program.loads_known = Some (Whole (4 * lanes)) -> size t = (4 * lanes)%nat ->
    forall done l1 l l2 s s' x i, packed (length done) done (l1 ++ l ++ l2) s -> pointers (length done) s ->
      env s' "from" = env s "from" -> memory s' = memory s -> length l1 = i -> length l = lanes ->
      run_statement (Const t x (LoadVector f [] "from" i)) s' = Some (set x (Register (register_of 4 l)) s').
  Proof.
    intros K Sz done l1 l l2 s s' x i (junk & M & J & _) (F & _) F' M' L1 L.
    apply (load_words_by t f lanes K Sz s' x "from" i ((before ++ words (stays done)) ++ there junk) l1 l l2 behind); auto.
    - rewrite F', F. do 3 f_equal. rewrite !app_length, !there_length, words_length. lia.
    - rewrite M', M, <- !app_assoc. reflexivity.
  Qed.

  (* A round reads some registers, stores what stays of them, and moves `from` and the pointers beside it. *)
  Context (beside : list string).
  Context (Moves : forall n k v s, ready k s -> exists s', move n beside (set "from" v s) = Some s' /\ ready (k + n) s' /\
    memory s' = memory s /\ env s' "from" = Some v /\ env s' "to" = env s "to" /\ env s' "end" = env s "end").

  Lemma left_steps m statements :
    (forall done now rest s, data = done ++ now ++ rest -> length now = (m * lanes)%nat ->
      packed (length done) done (now ++ rest) s -> pointers (length done) s -> exists s',
      run_statements statements s = Some s' /\ packed (length done + m * lanes) (done ++ now) rest s' /\
      env s' "from" = env s "from" /\ env s' "end" = env s "end" /\ ready (length done) s') ->
    forall d s, left d s -> (m * lanes <= d)%nat -> exists s1 s2,
      run_statements statements s = Some s1 /\ move (m * lanes) ("from" :: beside) s1 = Some s2 /\ left (d - m * lanes) s2.
  Proof.
    intros B d s (done & todo & k & D & L & K & P & Q) G. destruct (split_at todo (m * lanes)) as (now & rest & -> & Ln); [lia|].
    destruct (B done now rest s D Ln P Q) as (s1 & R & (junk & M & J & T) & Fr & En & Re). destruct Q as (F & E & _).
    rewrite app_length in L. exists s1. cbn [move]. unfold address_in. rewrite Fr, F. cbn [bind fst snd].
    destruct (Moves (m * lanes) _ (Address 4 (Z.of_nat (length before + 4 * (length stale + length done)) + Z.of_nat 4 * Z.of_nat (m * lanes)))
      s1 Re) as (s2 & Mv & Re2 & M2 & F2 & T2 & E2).
    exists s2. split; [exact R|]. split; [exact Mv|]. exists (done ++ now), rest, (k + m)%nat.
    rewrite <- app_assoc, app_length, Ln. split; [exact D|]. split; [lia|]. split; [lia|]. split.
    - exists junk. rewrite M2, T2. auto.
    - unfold pointers. rewrite F2, E2, En, E. split; [do 2 f_equal; lia|]. auto.
  Qed.

  (* Groups of registers, then single ones: what is left fills none. *)
  Lemma whole_registers_run n4 body4 body s : (0 < lanes)%nat -> (0 < n4)%nat ->
    (forall d s, left d s -> (n4 <= d)%nat -> exists s1 s2,
      run_statements body4 s = Some s1 /\ move n4 ("from" :: beside) s1 = Some s2 /\ left (d - n4) s2) ->
    (forall d s, left d s -> (lanes <= d)%nat -> exists s1 s2,
      run_statements body s = Some s1 /\ move lanes ("from" :: beside) s1 = Some s2 /\ left (d - lanes) s2) ->
    left (length data) s -> exists s' done todo,
    run_steps [Loop "from" "end" n4 beside body4; Loop "from" "end" lanes beside body] s = Some s' /\
    data = done ++ todo /\ length done = (length data / lanes * lanes)%nat /\ packed (length done) done todo s'.
  Proof.
    intros P P4 Step4 Step L. cbn [run_steps]. rewrite (left_distance _ _ L). cbn [bind]. rewrite Nat2Z.id.
    destruct (loop_ends "from" "end" n4 beside body4 left P4 left_distance Step4 (length data) _ s L (le_n _))
      as (s3 & d3 & E3 & L3 & _ & _).
    rewrite E3. cbn [bind]. rewrite (left_distance _ _ L3). cbn [bind]. rewrite Nat2Z.id.
    destruct (loop_ends "from" "end" lanes beside body left P left_distance Step d3 _ s3 L3 (le_n _))
      as (s4 & d4 & E4 & L4 & D4 & _).
    rewrite E4. cbn [bind]. destruct L4 as (done & todo & k & D & L4 & K & Q & _). exists s4, done, todo.
    split; [reflexivity|]. split; [exact D|]. split; [|exact Q].
    rewrite D, app_length, K, L4, (Nat.add_comm (k * lanes)), Nat.div_add, Nat.div_small by lia. reflexivity.
  Qed.

  (** ** Rounds that read some registers, and then keep what stays of each: of XIDs that are [taken] *)

  Context (t : type) (f : string) (Known : known f loads_known = Some (Whole (4 * lanes))) (Size : size t = (4 * lanes)%nat).
  Context (App : forall a b, stays (a ++ b) = stays a ++ stays b) (taken : Z -> Prop) (Taken : Forall taken data).
  (* The variables of the registers, what [keep] changes beside `to`, and what it needs. *)
  Context (names : list string) (own : string -> list string) (needs : list string) (keep : string -> list statement).
  Context (Apart : forallb (fun x => forallb (fun y => negb (existsb (String.eqb y) ("to" :: own x)))
    ("from" :: "end" :: needs ++ names)) names = true).
  Context (Free : forallb (fun x => forallb (fun y => negb (String.eqb y x)) ("to" :: "from" :: "end" :: needs)) names = true).
  Context (Ready : forall n s s', ready n s -> (forall y, In y needs -> env s' y = env s y) -> ready n s').
  Context (Keeps : forall n s x l, In x names -> ready n s -> Forall taken l -> length l = lanes ->
    env s x = Some (Register (register_of 4 l)) -> stores lanes (own x) (stays l) (keep x) s).

  Fixpoint reads (i : nat) (xs : list string) : list statement :=
    match xs with [] => [] | x :: xs => Const t x (LoadVector f [] "from" i) :: reads (i + lanes) xs end.

  Lemma reads_run done s0 : pointers (length done) s0 -> forall xs ls l1 l2 s,
    packed (length done) done (l1 ++ concat ls ++ l2) s0 -> env s "from" = env s0 "from" -> memory s = memory s0 ->
    length xs = length ls -> Forall (fun l => length l = lanes) ls -> NoDup xs -> incl xs names -> exists s',
    run_statements (reads (length l1) xs) s = Some s' /\ memory s' = memory s /\
    Forall2 (fun x l => env s' x = Some (Register (register_of 4 l))) xs ls /\ forall y, ~ In y xs -> env s' y = env s y.
  Proof.
    intros Q. induction xs as [|x xs IH]; intros [|l ls] l1 l2 s P F M Len L D I; try discriminate.
    { exists s. repeat split; auto. }
    inversion L as [|? ? Ll L']; subst. inversion D as [|? ? Nx D']; subst. cbn [concat] in P. rewrite <- app_assoc in P.
    pose proof (I x (or_introl eq_refl)) as Ix. rewrite forallb_forall in Free. pose proof (Free x Ix) as Fx.
    cbn [forallb] in Fx. rewrite !andb_true_iff, !negb_true_iff in Fx. destruct Fx as (_ & Fx & _).
    cbn [reads run_statements]. rewrite (loads t f Known Size done l1 l (concat ls ++ l2) s0 s x) by auto. cbn [bind].
    rewrite app_assoc in P. destruct (IH ls (l1 ++ l) l2 (set x (Register (register_of 4 l)) s)) as (s' & R & M' & E & O); auto.
    { rewrite env_set_other; auto. }
    { intros y Y. apply I. now right. }
    rewrite app_length, Ll in R. exists s'. split; [exact R|]. split; [exact M'|]. split.
    - constructor; [|exact E]. rewrite O by exact Nx. apply env_set_same.
    - intros y Y. rewrite O by (intros H; apply Y; now right). apply env_set_other, String.eqb_neq. intros ->. apply Y. now left.
  Qed.

  Lemma keeps_run n k todo : forall xs ls done s, ready k s -> packed n done todo s -> incl xs names ->
    Forall2 (fun x l => env s x = Some (Register (register_of 4 l))) xs ls ->
    Forall (fun l => length l = lanes /\ Forall taken l) ls -> (length done + length (concat ls) <= n)%nat -> exists s',
    run_statements (concat (map keep xs)) s = Some s' /\ packed n (done ++ concat ls) todo s' /\
    forall y, In y ("from" :: "end" :: needs ++ names) -> env s' y = env s y.
  Proof.
    induction xs as [|x xs IH]; intros ls done s Re P I E L N.
    - inversion E; subst. exists s. cbn [concat]. rewrite app_nil_r. auto.
    - inversion E as [|? l ? ls' Ex E']; subst. apply Forall_cons_iff in L as [[Ll Tl] L']. cbn [concat] in N. rewrite app_length in N.
      pose proof (I x (or_introl eq_refl)) as Ix. cbn [map concat]. rewrite run_statements_app.
      destruct (stored (own x) (stays l) (keep x) n done l todo s) as (s1 & R & P1 & O1); auto.
      { eapply Keeps; eauto. }
      { lia. }
      assert (S : forall y, In y ("from" :: "end" :: needs ++ names) -> env s1 y = env s y).
      { intros y Y. apply O1. rewrite forallb_forall in Apart. specialize (Apart x Ix). rewrite forallb_forall in Apart.
        apply negb_true_iff, (Apart y Y). }
      rewrite R. cbn [bind]. destruct (IH ls' (done ++ l) s1) as (s' & R' & P' & O'); auto.
      + eapply Ready; [exact Re|]. intros y Y. apply S. do 2 right. apply in_or_app. now left.
      + intros y Y. apply I. now right.
      + clear IH E L' N. induction E' as [|y m ys ms H E' IH]; constructor.
        * rewrite S; [exact H|]. do 2 right. apply in_or_app. right. apply I. right. now left.
        * apply IH. intros z [->|Z]; apply I; [now left|right; now right].
      + rewrite app_length. lia.
      + exists s'. split; [exact R'|]. rewrite <- app_assoc in P'. split; [exact P'|]. intros y Y. rewrite O', S by exact Y. reflexivity.
  Qed.

  Lemma registers_step xs : NoDup xs -> incl xs names -> forall d s, left d s -> (length xs * lanes <= d)%nat -> exists s1 s2,
    run_statements (reads 0 xs ++ concat (map keep xs)) s = Some s1 /\
    move (length xs * lanes) ("from" :: beside) s1 = Some s2 /\ left (d - length xs * lanes) s2.
  Proof.
    intros D I. apply left_steps. intros done now rest s E L P Q.
    assert (C : exists ls, now = concat ls /\ length xs = length ls /\ Forall (fun l => length l = lanes) ls).
    { clear - L. revert now L. induction xs as [|x xs IH]; intros now L.
      - exists []. destruct now; [auto|discriminate].
      - cbn [length] in L. destruct (split_at now lanes) as (l & r & -> & Ll); [lia|]. rewrite app_length in L.
        destruct (IH r ltac:(lia)) as (ls & -> & L1 & L2). exists (l :: ls). cbn [length concat]. auto. }
    destruct C as (ls & -> & Lx & Ll). destruct Q as (Fr & En & Re).
    destruct (reads_run done s (conj Fr (conj En Re)) xs ls [] rest s P eq_refl eq_refl Lx Ll D I) as (s1 & R1 & M1 & E1 & O1).
    assert (O : forall y, In y ("to" :: "from" :: "end" :: needs) -> env s1 y = env s y).
    { intros y Y. apply O1. intros X. rewrite forallb_forall in Free. specialize (Free y (I y X)). rewrite forallb_forall in Free.
      specialize (Free y Y). now rewrite String.eqb_refl in Free. }
    assert (P1 : packed (length done + length xs * lanes) done rest s1).
    { rewrite <- L. destruct (read _ _ _ _ _ P) as (junk & M & J & T). exists junk. rewrite M1, O by now left. auto. }
    rewrite run_statements_app. cbn [length] in R1. rewrite R1. cbn [bind].
    destruct (keeps_run (length done + length xs * lanes) (length done) rest xs ls done s1) as (s' & R & P' & O'); auto.
    - eapply Ready; [exact Re|]. intros y Y. apply O. cbn [In]. auto.
    - rewrite E, !Forall_app in Taken. destruct Taken as (_ & T & _). clear - T Ll.
      induction Ll as [|l ls H Ll IH]; constructor; cbn [concat] in T; apply Forall_app in T as [T1 T2]; auto.
    - lia.
    - exists s'. split; [exact R|]. split; [exact P'|].
      rewrite !O', !O by (cbn [In]; auto). split; [reflexivity|]. split; [reflexivity|].
      eapply Ready; [exact Re|]. intros y Y. rewrite O', O by (cbn [In]; rewrite ?in_app_iff; auto). reflexivity.
  Qed.
End packing.
