(* SPDX-License-Identifier: PostgreSQL *)
(** * Slots of several sectors are read as Tiers.v has them, or not at all *)
From Pgquern.common Require Import Naturals.
From Pgquern.tiercache Require Import Tiers FlatFile Fits Moves Refines Stops Beside BesideHolds Sectors.

Lemma same_slot_iff a b : same_slot a b = true <-> a = b.
Proof.
  destruct a as [(g, [p v x])|], b as [(h, [q w y])|]; cbn [same_slot slot_page slot_contents slot_dirty]; try (split; discriminate).
  - rewrite !andb_true_iff, same_mark_iff, !Nat.eqb_eq, eqb_true_iff.
    split; [now intros (((-> & ->) & ->) & ->)|now intros [= -> -> -> ->]].
  - now split.
Qed.

Lemma index_of_in x l d : In x l -> nth (index_of x l) l d = x.
Proof.
  induction l as [|y l IH]; [easy|]. cbn [index_of]. destruct (same_slot x y) eqn:E; cbn [nth].
  - intros _. symmetry. now apply same_slot_iff.
  - intros [->|I]; [|now apply IH]. assert (X : same_slot x x = true) by now apply same_slot_iff. congruence.
Qed.

Lemma existsb_same {A} (f g : A -> bool) l : (forall x, f x = g x) -> existsb f l = existsb g l.
Proof. intros E. induction l as [|x l IH]; [reflexivity|]. cbn [existsb]. now rewrite E, IH. Qed.

Lemma take_over_same takes f g i : (forall j, f j = g j) -> take_over takes f i = take_over takes g i.
Proof.
  intros E. unfold take_over. rewrite (E i). destruct (g i) as [e|]; [|reflexivity].
  now rewrite (existsb_same _ (fun j => takes j && holds (g j) (slot_page e)) (seq 0 i)) by (intros j; now rewrite E).
Qed.

Lemma write_page_ssd s p : ssd_of (write_page s p) = ssd_of s.
Proof. unfold write_page. destruct (read s p); [destruct (p <? pages s)|]; reflexivity. Qed.
Lemma write_store_ssd ps : forall s, ssd_of (write_store s ps) = ssd_of s.
Proof. induction ps as [|p ps IH]; intros s; [reflexivity|]. exact (eq_trans (IH (write_page s p)) (write_page_ssd s p)). Qed.

Lemma write_back_ssd s ps k whole part w g :
  ssd_of (do_write_back s ps k whole part w g) = ssd_of (fst (take_off (with_seen s [drawn s k]) k)).
Proof.
  unfold do_write_back, try_write_back. destruct (take_off (with_seen s [drawn s k]) k) as (t, off). destruct off; [|reflexivity].
  destruct (w && forallb (contains whole) ps); exact (write_store_ssd (whole ++ part) t).
Qed.

Section Hold.
Variable size followed : nat.
Variable sum : header -> list sector -> nat.
Hypothesis Followed : followed < size.
Notation parse := (parse followed sum).
Notation is_sound := (is_sound sum).
Notation after_sync := (after_sync followed sum).

Lemma parse_sound m e : parse m = Some e -> is_sound m = true.
Proof.
  destruct m as [|[| |h|x] ds]; try discriminate. unfold Sectors.parse. now destruct (is_sound (Head h :: ds)).
Qed.

Lemma parse_image (s : state) p others f : memory s p = Some f ->
  parse (image_of size followed sum s p others) = Some (generation s, Slot p (frame_contents f) (frame_dirty f)).
Proof.
  intros M. unfold image_of. rewrite M.
  assert (N : nth followed (data_of size followed (frame_contents f) others) Damaged = Data (frame_contents f)).
  { unfold data_of. set (g := fun k => Data (if k =? followed then frame_contents f else others k)).
    rewrite (nth_indep _ Damaged (g 0)) by (now rewrite map_length, seq_length).
    rewrite map_nth, seq_nth by exact Followed. unfold g. cbn [Nat.add]. now rewrite Nat.eqb_refl. }
  unfold sealed, Sectors.parse, Sectors.is_sound, unsealed. cbn [head_sum head_generation head_page head_dirty].
  now rewrite Nat.eqb_refl, N.
Qed.

(** What Tiers.v has of the slots is what their sectors are read as. *)
Record agree (s : state) (d : slots_file) : Prop := {
  there_agrees : forall i, disk s i = parse (there d i);
  may_agrees : forall i m e, In m (may_be d i) -> parse m = Some e -> In (Some e) (disk_may s i);
  there_may : forall i, In (there d i) (may_be d i);
  was_written : forall i m, In m (may_be d i) -> is_sound m = true -> In m (written d i);
}.

Lemma agree_same (s t : state) d : disk t = disk s -> disk_may t = disk_may s -> agree s d -> agree t d.
Proof. intros E E' [A B C D]. constructor; rewrite ?E, ?E'; assumption. Qed.

Lemma zeroed_agrees s d n : agree s d -> agree (scrub s n) (zeroed s d n).
Proof.
  intros A. constructor.
  - intros i. change ((if overwritten s n i then None else disk s i) = parse (if overwritten s n i then without_header (there d i) else there d i)).
    destruct (overwritten s n i); [reflexivity|apply A].
  - intros i m e. change (In m (if overwritten s n i then (if overwritten s n i then without_header (there d i) else there d i) :: may_be d i else may_be d i) ->
      parse m = Some e -> In (Some e) (if overwritten s n i then None :: disk_may s i else disk_may s i)).
    destruct (overwritten s n i); [|apply A]. intros [<-|H] P; [discriminate P|]. right. now apply (may_agrees _ _ A i m).
  - intros i. cbn [zeroed there may_be]. destruct (overwritten s n i); [now left|apply A].
  - intros i m. cbn [zeroed may_be written]. destruct (overwritten s n i); [|apply A].
    intros [<-|H] S; [discriminate S|]. now apply (was_written _ _ A).
Qed.

Lemma after_sync_agrees (s : state) d g i m e : agree s d -> In m (after_sync d g i) -> parse m = Some e -> In (Some e) (synced_slots s g i).
Proof.
  intros A [<-|H] P; [left; now rewrite (there_agrees _ _ A)|]. apply filter_In in H as (H & N). right. apply filter_In.
  split; [now apply (may_agrees _ _ A i m)|]. unfold is_of in N. rewrite P in N. destruct e as (h, x). exact N.
Qed.

Lemma after_sync_sub (s : state) d g i m : agree s d -> In m (after_sync d g i) -> In m (may_be d i).
Proof. intros A [<-|H]; [apply A|]. now apply filter_In in H. Qed.

Lemma synced_agrees s d : agree s d -> agree (sync_ssd s) (slots_synced followed sum d (generation s)).
Proof.
  intros A. constructor.
  - exact (there_agrees _ _ A).
  - intros i m e. exact (after_sync_agrees s d (generation s) i m e A).
  - intros i. now left.
  - intros i m H. apply (after_sync_sub s) in H; [|exact A]. now apply (was_written _ _ A).
Qed.

Lemma take_off_agrees s d k : agree s d -> agree (fst (take_off s k)) (taken_off followed sum s d k).
Proof.
  intros A. destruct k as [w n|n g l m]; cbn [take_off taken_off fst].
  - destruct (in_use s); cbn [andb]; [destruct w|destruct (retiring s)].
    + exact (synced_agrees (scrub s (slots s)) _ (zeroed_agrees s d _ A)).
    + now apply (agree_same s).
    + now apply (agree_same s).
    + exact A.
  - destruct (in_use s); [|destruct (retiring s); [now apply (agree_same s)|exact A]].
    apply (agree_same (scrub s n)); [reflexivity|reflexivity|now apply zeroed_agrees].
Qed.

Lemma mounted_slot (s : state) d g (doubt : bool) (taken : option slot) i m : agree s d ->
  In m (match doubt, taken with true, None => may_be d i | _, _ => after_sync d g i end) ->
  In m (may_be d i) /\
  forall e, parse m = Some e -> In (Some e) (match doubt, taken with true, None => disk_may s i | _, _ => synced_slots s g i end).
Proof.
  intros A H. destruct doubt; [destruct taken|]; (split; [try exact H; now apply (after_sync_sub s d g)|intros e P]);
    try (now apply (after_sync_agrees s d g i m)). now apply (may_agrees _ _ A i m).
Qed.

Lemma mounted_agrees s d m w g (uses : bool) : agree s d ->
  let t := sync_store (written_again (with_seen s [mark_of s m; other_mark_of s m]) (again m)) w g in
  agree (mount_ssd t m uses) (slots_mounted followed sum s d m uses).
Proof.
  intros A t. unfold slots_mounted. cbv zeta. destruct uses; [|now apply (agree_same s)].
  set (trusted := if reads_super m then is_trusted s else None).
  set (n := match trusted with Some g => g | None => mark_of s m end).
  set (found := fun i => match trusted with Some g => if i <? slots s then valid g (disk s i) else None | None => None end).
  set (met := fun i => match trusted with Some g => if i <? slots s then valid g (parse (there d i)) else None | None => None end).
  assert (E : forall i, take_over (takes m) met i = take_over (takes m) found i).
  { intros i. apply take_over_same. intros j. unfold met, found. now rewrite (there_agrees _ _ A j). }
  constructor.
  - exact (there_agrees _ _ A).
  - intros i x e H P. cbn [may_be] in H. rewrite E in H. destruct (mounted_slot s d n _ _ i x A H) as (_ & X). exact (X e P).
  - intros i. cbn [there may_be]. destruct (in_doubt m); [destruct (take_over _ met i)|]; [now left|apply A|now left].
  - intros i x H. cbn [may_be] in H. destruct (mounted_slot s d n _ _ i x A H) as (X & _). now apply (was_written _ _ A).
Qed.

Lemma mount_agrees s d m : agree s d ->
  agree (do_mount s m) (slots_mounted followed sum s d m (store_syncs m && (reads_super m && super_works m))).
Proof.
  intros A. unfold do_mount. cbv zeta. destruct (store_syncs m); [|now apply (agree_same s)]. cbn [andb].
  pose proof (mounted_agrees s d m true (store_forgets m) (reads_super m && super_works m) A) as B. cbv zeta in B.
  unfold mount_control. destruct (control_works m); now refine (agree_same _ _ _ _ _ B).
Qed.

Lemma stop_agrees s d m x : agree s d -> agree (mount_until s m x) (slots_stopped followed sum s d m x).
Proof.
  intros A. pose proof (fun uses => mounted_agrees s d m true (store_forgets m) uses A) as B. cbv zeta in B.
  destruct x; cbn [mount_until slots_stopped]; try now apply (agree_same s).
  - destruct (reads_super m); [now refine (agree_same _ _ _ _ _ (B true))|now apply (agree_same s)].
  - now refine (agree_same _ _ _ _ _ (B (reads_super m && super_works m))).
Qed.

Lemma loss_agrees s w d loses keeps u c kept : agree s d -> told_apart size followed sum s d (SectorLoss loses keeps u c kept) ->
  let b := (s, w) in let y := SectorLoss loses keeps u c kept in
  agree (fst (do_beside b (step_of size followed sum s d y))) (slots_step size followed sum b d y).
Proof.
  intros A T b y. cbn [told_apart] in T. set (left := left_there size s d loses kept) in *.
  assert (M : do_beside b (step_of size followed sum s d y) = (run_step s (PowerLoss loses keeps (fun i =>
    match parse (left i) with None => 0 | e => S (index_of e (disk_may s i)) end) u c), None)).
  { unfold b, y. cbn [do_beside step_of]. now destruct w. }
  rewrite M. clear M.
  assert (There : forall i, (if loses || (slots s <=? i) then None else
    match match parse (left i) with None => 0 | Some e => S (index_of (Some e) (disk_may s i)) end with
    | O => None | S k => nth k (disk_may s i) (disk s i) end) = parse (left i)).
  { intros i. destruct (loses || (slots s <=? i)) eqn:X; [unfold left, left_there; now rewrite X|].
    destruct (parse (left i)) as [e|] eqn:P; [|reflexivity]. apply index_of_in, (may_agrees _ _ A i (left i)); [|exact P].
    now apply T, (parse_sound _ e). }
  constructor.
  - exact There.
  - intros i m e [<-|[]] P. left. exact (eq_trans (There i) P).
  - intros i. now left.
  - intros i m [<-|[]] X. apply (was_written _ _ A); [now apply T|exact X].
Qed.

Lemma slot_write_agrees s w d p i works others lands : agree s d ->
  told_apart size followed sum s d (SlotWrite p i works others lands) ->
  let b := (s, w) in let y := SlotWrite p i works others lands in
  agree (fst (do_beside b (step_of size followed sum s d y))) (slots_step size followed sum b d y).
Proof.
  intros A T b y. unfold b, y. cbn [told_apart] in T.
  assert (M : forall x, is_move x = true -> fst (do_beside (s, w) (Call x)) = run_step s x).
  { intros x E. cbn [do_beside]. destruct w; cbn [may_be_called]; [now rewrite E|reflexivity]. }
  cbn [step_of slots_step fst]. rewrite M by reflexivity. clear M w b y. cbn [run_step]. unfold writes_slot.
  destruct (up s); [|exact A]. cbn [andb]. unfold do_to_ssd. destruct (memory s p) as [f|] eqn:M; [|exact A].
  destruct (slot_of s p); [exact A|]. destruct (in_use s && may_take s i); [|exact A].
  pose proof (parse_image s p others f M) as W. unfold landing_of, slot_written.
  set (w := image_of size followed sum s p others) in *. set (now := landed size followed sum s d p i works others lands) in *.
  cbv zeta. set (e := Slot p (frame_contents f) (frame_dirty f)) in *.
  assert (C : (if works then Some (generation s, e) else
      match match parse now with
            | None => Torn
            | Some x => if same_slot (Some x) (parse w) then Whole else Earlier (index_of (Some x) (disk_may s i)) end
      with Nothing => disk s i | Torn => None | Whole => Some (generation s, e) | Earlier k => nth k (disk_may s i) None end) = parse now).
  { destruct works; [symmetry; exact W|]. destruct (parse now) as [x|] eqn:P; [|reflexivity].
    destruct (same_slot (Some x) (parse w)) eqn:Q; [apply same_slot_iff in Q; congruence|].
    apply index_of_in. destruct (T (parse_sound _ _ P)) as [X|X]; [|now apply (may_agrees _ _ A i now)].
    exfalso. rewrite X, P in Q. assert (Y : same_slot (Some x) (Some x) = true) by now apply same_slot_iff. congruence. }
  constructor; cbn [there may_be written disk disk_may ssd_of with_ssd].
  - intros j. at_key j i; [exact C|apply A].
  - intros j m x. at_key j i; [|apply A]. intros H P.
    assert (B : In m (w :: may_be d i)) by (destruct H as [<-|H]; [exact (T (parse_sound _ _ P))|exact H]).
    right. destruct B as [<-|B]; [left; congruence|right; now apply (may_agrees _ _ A i m)].
  - intros j. at_key j i; [now left|apply A].
  - intros j m. at_key j i; [|apply A]. intros H S.
    assert (B : In m (w :: may_be d i)) by (destruct H as [<-|H]; [exact (T S)|exact H]).
    destruct B as [<-|B]; [now left|right; now apply (was_written _ _ A)].
Qed.

Lemma other_ssd_agrees s w d u images : agree s d ->
  let b := (s, w) in let y := OtherSsd u images in
  agree (fst (do_beside b (step_of size followed sum s d y))) (slots_step size followed sum b d y).
Proof.
  intros A b y. unfold b, y. cbn [step_of slots_step do_beside fst snd]. unfold is_closed. cbn [fst snd].
  destruct w as [w|]; [exact A|]. cbn [may_be_called fst run_step]. destruct (up s); [exact A|]. cbn [negb].
  assert (There : forall i, (if i <? slots s then parse (images i) else None) = parse (if i <? slots s then images i else [])).
  { intros i. now destruct (i <? slots s). }
  constructor.
  - exact There.
  - intros i m e [<-|[]] P. left. exact (eq_trans (There i) P).
  - intros i. now left.
  - intros i m [<-|[]] _. now left.
Qed.

Lemma call_agrees s d x : agree s d -> told_apart size followed sum s d (Same (Call x)) ->
  agree (run_step s x) (slots_of_call followed sum s d x).
Proof.
  intros A T. destruct x as [p|p|p i w l|p|i|ps k whole part w g|k| |loses keeps kept u c|u what| |m];
    cbn [run_step slots_of_call]; try contradiction; try (destruct (up s); [|exact A]).
  - destruct (p <? pages s); [|exact A]. unfold do_write. destruct (forget s p). now apply (agree_same s).
  - destruct (p <? pages s); [|exact A]. unfold do_load. destruct (memory s p); [exact A|]. destruct (read s p); [now apply (agree_same s)|exact A].
  - unfold do_drop. destruct (memory s p) as [f|]; [|exact A]. destruct (frame_dirty f); [exact A|now apply (agree_same s)].
  - unfold do_drop_slot. destruct (held s i) as [e|]; [|exact A]. destruct (slot_dirty e); [exact A|now apply (agree_same s)].
  - pose proof (write_back_ssd s ps k whole part w g) as E.
    apply (agree_same (fst (take_off (with_seen s [drawn s k]) k))); [now rewrite E|now rewrite E|].
    apply (take_off_agrees (with_seen s [drawn s k]) d k). now apply (agree_same s).
  - apply (agree_same (fst (take_off (with_seen s [drawn s k]) k))).
    + unfold do_fsync. now destruct (take_off (with_seen s [drawn s k]) k).
    + unfold do_fsync. now destruct (take_off (with_seen s [drawn s k]) k).
    + apply (take_off_agrees (with_seen s [drawn s k]) d k). now apply (agree_same s).
  - now apply (agree_same s).
  - destruct (up s); [exact A|now apply (agree_same s)].
  - destruct (up s); [exact A|now apply mount_agrees].
Qed.

Lemma step_agrees b d y : agree (fst b) d -> told_apart size followed sum (fst b) d y ->
  agree (fst (do_beside b (step_of size followed sum (fst b) d y))) (slots_step size followed sum b d y).
Proof.
  destruct b as (s, w). cbn [fst]. intros A T. destruct y as [y|p i works others lands|loses keeps u c kept|u images];
    [|now apply slot_write_agrees|now apply loss_agrees|now apply other_ssd_agrees].
  cbn [step_of slots_step fst snd]. destruct y as [x|ps|k|p whole|works forgets| |m x]; cbn [do_beside].
  - destruct (may_be_called w x); [now apply call_agrees|exact A].
  - destruct w; [exact A|]. now destruct (up s).
  - destruct w as [[a h [| | |w] l]|]; try exact A. pose proof (take_off_agrees (with_seen s [drawn s k]) d k) as B.
    destruct (take_off (with_seen s [drawn s k]) k) as (t, off). apply B. now apply (agree_same s).
  - destruct w as [[a h [| | |w] l]|]; try exact A. destruct (h p); [now apply (agree_same s)|exact A].
  - destruct w as [[a h [| | |w] l]|]; try exact A. now apply (agree_same s).
  - destruct w as [w|]; [|exact A]. apply (agree_same s); [| |exact A]; cbn [fst]; unfold settle;
      (destruct (at_stage w) as [| | |[]]; try reflexivity; now destruct (forallb _ _)).
  - unfold is_closed. cbn [fst snd]. destruct w as [w|]; [exact A|]. destruct (up s); [exact A|]. now apply stop_agrees.
Qed.

Notation run_sectors := (run_sectors size followed sum).
Notation steps_of := (steps_of size followed sum).
Notation sectors_assumed := (sectors_assumed size followed sum).

Lemma start_agrees n m : agree (start n m) blank.
Proof.
  constructor; [reflexivity| |now left|].
  - now intros i m' e [<-|[]].
  - now intros i m' [<-|[]].
Qed.

Lemma run_agrees ys : forall c, agree (fst (fst c)) (snd c) -> sectors_assumed c ys ->
  agree (fst (fst (run_sectors c ys))) (snd (run_sectors c ys)).
Proof.
  induction ys as [|y ys IH]; intros (b, d) A; [intros _; exact A|]. intros (T & _ & B).
  exact (IH (sectors_step size followed sum (b, d) y) (step_agrees b d y A T) B).
Qed.

Lemma steps_run ys : forall c f, fst (run_sectors c ys) = fst (run_beside (fst c) f (steps_of c ys)).
Proof. induction ys as [|y ys IH]; intros c f; [reflexivity|]. exact (IH (sectors_step size followed sum c y) _). Qed.

Lemma steps_assumed ys : forall c, sectors_assumed c ys -> assumed_of_all_beside (fst c) (steps_of c ys) = true.
Proof.
  induction ys as [|y ys IH]; intros c; [reflexivity|]. intros (_ & B & C).
  cbn [Sectors.steps_of assumed_of_all_beside fst snd] in *. rewrite B. exact (IH _ C).
Qed.

Lemma steps_app xs ys : forall c, steps_of c (xs ++ ys) = steps_of c xs ++ steps_of (run_sectors c xs) ys.
Proof.
  induction xs as [|x xs IH]; intros c; [reflexivity|]. cbn [app Sectors.steps_of]. now rewrite IH.
Qed.

Lemma assumed_app xs ys : forall c, sectors_assumed c (xs ++ ys) -> sectors_assumed c xs.
Proof. induction xs as [|x xs IH]; intros c; [easy|]. intros (T & B & C). split; [exact T|]. split; [exact B|now apply IH]. Qed.

(** A step that is the same in both. *)
Lemma is_the_same x : x = SecondLife \/ (exists p, x = Write p) -> forall ys c, In (Call x) (steps_of c ys) -> In (Same (Call x)) ys.
Proof.
  intros X. induction ys as [|y ys IH]; intros c; [easy|]. intros [H|H]; [|right; now apply (IH (sectors_step size followed sum c y))].
  left. destruct y as [z|p i w o l|l k u c' e|u im]; cbn [step_of] in H; [now rewrite H| | |];
    injection H as H; destruct X as [X|(q & X)]; rewrite X in H; discriminate.
Qed.

Lemma read_agrees s d p : agree s d -> read_sectors followed sum s d p = read s p.
Proof.
  intros A. unfold read_sectors, read, read_slot. destruct (memory s p); [reflexivity|].
  destruct (slot_of s p) as [i|]; [|reflexivity]. now rewrite (there_agrees _ _ A).
Qed.

(** A slot that a mount takes over, or that is used later, has the sectors of one write, all of them, whatever failed
    writes and power losses have left of that slot's writes, sector by sector: a mixture is never trusted.  Write-backs may be
    under way beside other calls, and mounts may stop at any of their operations. *)
Theorem a_mixture_is_never_trusted n m ys i e : sectors_assumed (start n m, None, blank) ys ->
  let c := run_sectors (start n m, None, blank) ys in let s := fst (fst c) in
  held s i = Some e ->
  In (there (snd c) i) (written (snd c) i) /\
  exists dirty, parse (there (snd c) i) = Some (generation s, Slot (slot_page e) (slot_contents e) dirty).
Proof.
  intros S c s H. pose proof (run_agrees ys (start n m, None, blank) (start_agrees n m) S) as A. fold c in A. fold s in A.
  pose proof (run_beside_fits _ _ _ (start_beside n m) (steps_assumed ys _ S)) as (F & _).
  pose proof (steps_run ys (start n m, None, blank) empty) as E. cbn [fst] in E. rewrite <- E in F. fold c in F. fold s in F.
  destruct (held_on_disk _ _ F i e H) as (dirty & D). rewrite (there_agrees _ _ A) in D. split; [|now exists dirty].
  apply (was_written _ _ A); [apply A|]. exact (parse_sound _ _ D).
Qed.

(** With slots of several sectors, write-backs beside other calls, and mounts that stop at any of their operations, each page has in
    each of its sectors what it held at the last successful fsync, or what was written since, as soon as the cache is up; and a read
    finds it by the sectors alone. *)
Theorem torn_slots_lose_nothing n m ys p : sectors_assumed (start n m, None, blank) ys ->
  let c := run_sectors (start n m, None, blank) ys in let s := fst (fst c) in
  up s = true -> p < n ->
  exists v, read_sectors followed sum s (snd c) p = Some v /\
    In v (since_sync (snd (run_beside (start n m, None) empty (steps_of (start n m, None, blank) ys))) p).
Proof.
  intros S c s Up L. pose proof (run_agrees ys (start n m, None, blank) (start_agrees n m) S) as A. fold c in A. fold s in A.
  pose proof (reads_beside_a_write_back n m _ p (steps_assumed ys _ S)) as N.
  pose proof (steps_run ys (start n m, None, blank) empty) as E. cbn [fst] in E. fold c in E.
  unfold s in *. rewrite E in *. destruct (run_beside (start n m, None) empty (steps_of (start n m, None, blank) ys)) as (b, f). cbn [fst snd] in *. subst b.
  destruct (N Up L) as (R & I). exists (newest f p). split; [|exact I]. now rewrite read_agrees.
Qed.

(** What an fsync has covered is read again after power losses that leave any sectors of any slots, also between two steps of a later
    write-back or of a mount. *)
Theorem synced_pages_survive_torn_slots n m xs k ys p c :
  sectors_assumed (start n m, None, blank) (xs ++ Same (Call (Fsync k)) :: ys) -> p < n ->
  let s := run_sectors (start n m, None, blank) xs in
  let t := run_sectors (start n m, None, blank) (xs ++ Same (Call (Fsync k)) :: ys) in
  snd (fst s) = None -> up (fst (fst s)) = true -> read_sectors followed sum (fst (fst s)) (snd s) p = Some c ->
  snd (do_fsync (fst (fst s)) k) = true -> (forall y, In y ys -> y <> Same (Call (Write p)) /\ y <> Same (Call SecondLife)) ->
  up (fst (fst t)) = true -> read_sectors followed sum (fst (fst t)) (snd t) p = Some c.
Proof.
  intros S L s t Alone Us R Ok No Ut. pose proof (steps_assumed _ _ S) as B.
  pose proof (run_agrees _ (start n m, None, blank) (start_agrees n m) (assumed_app _ _ _ S)) as As. fold s in As.
  pose proof (run_agrees _ (start n m, None, blank) (start_agrees n m) S) as At. fold t in At.
  pose proof (steps_run xs (start n m, None, blank) empty) as Es. fold s in Es.
  pose proof (steps_run (xs ++ Same (Call (Fsync k)) :: ys) (start n m, None, blank) empty) as Et. fold t in Et.
  rewrite steps_app in B, Et. fold s in B, Et. cbn [Sectors.steps_of step_of fst] in B, Et, Es.
  rewrite read_agrees in R by exact As. rewrite read_agrees by exact At. rewrite Et in *. rewrite Es in Alone, Us, R, Ok.
  refine (synced_pages_survive_beside n m _ k _ p c B L Alone Us R Ok _ Ut). intros y Y. split; intros ->.
  - apply is_the_same in Y; [|right; now exists p]. now destruct (No _ Y).
  - apply is_the_same in Y; [|now left]. now destruct (No _ Y).
Qed.
End Hold.
