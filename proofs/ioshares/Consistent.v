(* SPDX-License-Identifier: PostgreSQL *)
(** * Every call keeps the scheduler consistent; which request goes, and when one does *)
From Pgquern.common Require Import Integers.
From Pgquern.ioshares Require Import Algorithms Spec.

Local Arguments total : simpl never.

Lemma latencies_positive : 0 <= max_latency.
Proof. unfold max_latency. lia. Qed.
Local Opaque max_latency.

(** ** Lists *)

Lemma nth_update {A} (l : list A) : forall i j x,
  nth_error (update i x l) j = if Nat.eqb i j then match nth_error l i with Some _ => Some x | None => None end
                               else nth_error l j.
Proof. induction l as [|y l IH]; intros [|i] [|j] x; cbn; auto. now destruct (Nat.eqb i j). Qed.

Lemma in_update {A} (l : list A) i x y : In y (update i x l) -> y = x \/ In y l.
Proof.
  revert i. induction l as [|z l IH]; intros [|i]; cbn; intros H; intuition.
  apply IH in H0. intuition.
Qed.

Lemma Forall_update {A} (P : A -> Prop) l i x : Forall P l -> P x -> Forall P (update i x l).
Proof. intros F X. apply Forall_forall. intros y [->|Y]%in_update; [auto|]. now apply (proj1 (Forall_forall _ _) F). Qed.

Lemma total_update (of : flow -> Z) l : forall i f g,
  nth_error l i = Some f -> total of (update i g l) = total of l - of f + of g.
Proof.
  unfold total. induction l as [|y l IH]; intros [|i] f g H; try discriminate; cbn in *.
  - injection H as ->. lia.
  - rewrite (IH i f g H). lia.
Qed.

Lemma Forall_nth {A} (P : A -> Prop) l i x : Forall P l -> nth_error l i = Some x -> P x.
Proof. intros F N. apply (proj1 (Forall_forall _ _) F). eapply nth_error_In, N. Qed.

(** ** The scan *)

(** After the classes [pre] have been looked at. *)
Definition best_of (pre : list flow) (b : option best) : Prop :=
  match b with
  | None => Forall (fun f => queue f = []) pre
  | Some r =>
      (exists f, nth_error pre (chosen r) = Some f /\ queue f <> [] /\ least_key r = tag f + handicap f) /\
      (exists f, In f pre /\ queue f <> [] /\ least_tag r = tag f) /\
      Forall (fun f => queue f <> [] -> least_key r <= tag f + handicap f /\ least_tag r <= tag f) pre
  end.

Lemma look_best pre f b : best_of pre b -> best_of (pre ++ [f]) (look (length pre) f b).
Proof.
  intros B. unfold look. destruct (queue f) as [|z q] eqn:Q.
  - destruct b as [r|]; cbn in *.
    + destruct B as ((g & N & NE & K) & (h & I & NH & T) & F). split; [|split].
      * exists g. rewrite nth_error_app1 by (apply nth_error_Some; congruence). auto.
      * exists h. rewrite in_app_iff. auto.
      * apply Forall_app. split; [auto|]. constructor; [congruence|constructor].
    + apply Forall_app. auto.
  - assert (NE : queue f <> []) by congruence.
    assert (L : nth_error (pre ++ [f]) (length pre) = Some f)
      by (rewrite nth_error_app2, Nat.sub_diag by lia; reflexivity).
    destruct b as [r|]; cbn in *.
    + destruct B as ((g & N & NG & K) & (h & I & NH & T) & F).
      assert (G : nth_error (pre ++ [f]) (chosen r) = Some g)
        by (rewrite nth_error_app1; [auto|apply nth_error_Some; congruence]).
      destruct (Z.ltb_spec (tag f + handicap f) (least_key r)), (Z.ltb_spec (tag f) (least_tag r)); cbn;
        (split; [|split]);
        [exists f; auto|exists f; rewrite in_app_iff; cbn; auto|
        |exists f; auto|exists h; rewrite in_app_iff; auto|
        |exists g; auto|exists f; rewrite in_app_iff; cbn; auto|
        |exists g; auto|exists h; rewrite in_app_iff; auto|];
        (apply Forall_app; split; [|constructor; [intros _; lia|constructor]]);
        (eapply Forall_impl; [|exact F]); cbn; intros x X NX; specialize (X NX); lia.
    + split; [|split].
      * exists f. auto.
      * exists f. rewrite in_app_iff. cbn. auto.
      * apply Forall_app. split.
        -- eapply Forall_impl; [|exact B]. cbn. congruence.
        -- constructor; [intros _; lia|constructor].
Qed.

Lemma scan_best fs : forall pre b, best_of pre b -> best_of (pre ++ fs) (scan (length pre) fs b).
Proof.
  induction fs as [|f fs IH]; intros pre b B; cbn.
  - now rewrite app_nil_r.
  - replace (pre ++ f :: fs) with ((pre ++ [f]) ++ fs) by now rewrite <- app_assoc.
    replace (S (length pre)) with (length (pre ++ [f])) by (rewrite app_length; cbn; lia).
    apply IH, look_best, B.
Qed.

Lemma scan_all fs : best_of fs (scan 0 fs None).
Proof. apply (scan_best fs []). constructor. Qed.

(** What next() does when it does something. *)
Lemma next_spec s i size s' : next s = Some (i, size, s') ->
  exists f rest v, nth_error (flows s) i = Some f /\ queue f = size :: rest /\
    (exists g, In g (flows s) /\ queue g <> [] /\ v = tag g) /\
    Forall (fun g => queue g <> [] -> tag f + handicap f <= tag g + handicap g /\ v <= tag g) (flows s) /\
    in_flight s < limit s /\
    s' = State (update i (go size rest f) (flows s)) v (waiting s - 1) (in_flight s + 1) (bounds s) (pacing s)
               (completed s) (latency s) (pressed s).
Proof.
  unfold next. destruct (Z.leb_spec (limit s) (in_flight s)) as [|L]; [discriminate|].
  pose proof (scan_all (flows s)) as B. destruct (scan 0 (flows s) None) as [r|]; [|discriminate].
  destruct B as ((f & N & NE & K) & T & F). rewrite N. destruct (queue f) as [|z rest] eqn:Q; [discriminate|].
  intros [= <- <- <-]. exists f, rest, (least_tag r). rewrite K in F. intuition.
Qed.

(** ** Each call keeps the scheduler consistent *)

Lemma total_zero fs : Forall (fun f => queue f = []) fs -> total queued fs = 0.
Proof. induction 1 as [|f fs Q _ IH]; [reflexivity|]. unfold total, queued in *. cbn. rewrite Q, IH. reflexivity. Qed.

Lemma total_nonneg fs : 0 <= total queued fs.
Proof. induction fs as [|f fs IH]; unfold total, queued in *; cbn; lia. Qed.

Lemma near_later M W v v' f : near M W v f -> v <= v' -> (queue f <> [] -> v' <= tag f) -> near M W v' f.
Proof. intros [] L B. constructor; auto; lia. Qed.

Lemma enqueue_near M W v size f : near M W v f -> 1 <= size <= M -> near M W v (enqueue v size f).
Proof.
  intros [] S. constructor; cbn; auto.
  - apply Forall_app. auto.
  - destruct (queue f); [|auto]. destruct (Z.ltb_spec (tag f) v); nia.
  - intros _. destruct (queue f) eqn:Q; [destruct (Z.ltb_spec (tag f) v); lia|]. apply tag_not_behind. discriminate.
Qed.

Theorem submit_keeps_consistent M W s i op size s' :
  consistent M W s -> 0 <= op /\ op + size <= M -> submit i op size s = Some s' -> consistent M W s'.
Proof.
  intros C SM H. unfold submit in H. destruct (nth_error (flows s) i) as [f|] eqn:N; [|discriminate].
  destruct (Z.ltb_spec size 1); [discriminate|]. destruct (Z.ltb_spec max_bytes size); [discriminate|].
  destruct (Z.leb_spec (capacity f) (Z.of_nat (length (queue f)))); [discriminate|]. cbn in H. injection H as <-.
  destruct C. constructor; cbn; auto.
  - apply Forall_update; [auto|]. apply enqueue_near; [|lia]. eapply Forall_nth; eauto.
  - rewrite (total_update _ _ _ f) by auto. unfold queued. cbn. rewrite app_length. cbn. unfold queued in *. lia.
  - rewrite (total_update _ _ _ f) by auto. cbn. lia.
Qed.

Lemma next_near M W s i size s' :
  consistent M W s -> next s = Some (i, size, s') -> vtime s <= vtime s' /\ Forall (near M W (vtime s')) (flows s').
Proof.
  intros C H. apply next_spec in H as (f & rest & v & N & Q & (g & GI & GQ & ->) & F & _ & ->). cbn.
  destruct C. pose proof (proj1 (Forall_forall _ _) tags_near) as T.
  assert (V : vtime s <= tag g) by (apply (tag_not_behind _ _ _ _ (T g GI)); auto). split; [auto|].
  pose proof (proj1 (Forall_forall _ _) F) as F'.
  apply Forall_update.
  - apply Forall_forall. intros h HI. apply (near_later M W (vtime s)); auto. intros HQ. now apply F'.
  - pose proof (Forall_nth _ _ _ _ tags_near N) as NF. destruct (T g GI) as [_ WG HG _ _ _ _]. destruct NF.
    assert (FI : In f (flows s)) by (eapply nth_error_In; eauto).
    assert (FQ : queue f <> []) by congruence.
    assert (S : 1 <= size <= M) by (rewrite Q in sizes_within; now inversion sizes_within).
    destruct (F' g GI GQ) as [KG _]. destruct (F' f FI FQ) as [_ VF].
    constructor; cbn; auto.
    + rewrite Q in sizes_within. now inversion sizes_within.
    + lia.
    + nia.
    + intros _. nia.
Qed.

Lemma limit_in_range M W s : consistent M W s -> least (bounds s) <= limit s <= level (pacing s).
Proof.
  intros []. pose proof limits_sound as []. unfold limit, limit_of. destruct (probing _); [|lia].
  pose proof (Z.mul_div_le (level (pacing s)) 2). destruct (Z.ltb_spec (least (bounds s)) (level (pacing s) / 2)); lia.
Qed.

Theorem next_keeps_consistent M W s i size s' :
  consistent M W s -> next s = Some (i, size, s') -> consistent M W s'.
Proof.
  intros C H. pose proof (next_near M W s i size s' C H) as [_ NF].
  pose proof (limit_in_range M W s C) as LR.
  apply next_spec in H as (f & rest & v & N & Q & _ & _ & L & ->). cbn in *. destruct C. constructor; cbn; auto.
  - rewrite (total_update _ _ _ f) by auto. unfold queued in *. cbn. rewrite Q. cbn [length]. lia.
  - rewrite (total_update _ _ _ f) by auto. cbn. lia.
  - lia.
Qed.

Lemma taken_apart (q : list Z) : forall k z, nth_error q k = Some z -> q = firstn k q ++ z :: skipn (S k) q.
Proof.
  induction q as [|x q IH]; intros [|k] z K; try discriminate; cbn in *; [now injection K as ->|].
  f_equal. now apply IH.
Qed.

Theorem cancel_keeps_consistent M W s i k size s' :
  consistent M W s -> cancel i k s = Some (size, s') -> consistent M W s'.
Proof.
  intros C H. unfold cancel in H. destruct (nth_error (flows s) i) as [f|] eqn:N; [|discriminate].
  destruct (nth_error (queue f) k) as [z|] eqn:K; [|discriminate]. injection H as <- <-.
  pose proof (taken_apart _ _ _ K) as E. destruct C. constructor; cbn; auto.
  - apply Forall_update; [auto|]. pose proof (Forall_nth _ _ _ _ tags_near N) as []. constructor; cbn [queue without]; auto.
    + rewrite E in sizes_within. apply Forall_app in sizes_within as [A B]. inversion B. apply Forall_app. auto.
    + intros _. apply tag_not_behind. rewrite E. now destruct (firstn k (queue f)).
  - rewrite (total_update _ _ _ f) by auto.
    assert (L : queued f = queued (without k f) + 1).
    { unfold queued, without. cbn [queue]. rewrite E at 1. rewrite !app_length. cbn [length]. lia. }
    lia.
  - rewrite (total_update _ _ _ f) by auto. cbn. lia.
Qed.

Lemma fallen_in_range l n f mean : sound l -> least l <= n <= most l -> least l <= fallen l n f mean <= n.
Proof.
  intros [] R. unfold fallen. cbv zeta. destruct (Z.ltb_spec (n * f * 5 / (mean * 4)) n).
  - destruct (Z.ltb_spec (least l) (n * f * 5 / (mean * 4))); lia.
  - destruct (Z.ltb_spec (least l) (n - 1)); lia.
Qed.

Record paced (l : limits) (a : pace) : Prop := Paced {
  paced_level : least l <= level a <= most l;
  paced_floor : 0 <= floor a <= max_latency;
  paced_age : 0 <= age a <= probe_every /\ (probing a = false -> age a < probe_every) }.

Lemma adapt_paced l a mean p : sound l -> 0 <= mean <= max_latency -> paced l a -> paced l (adapt l a mean p).
Proof.
  intros S M [L F A]. unfold adapt. unfold probe_every in *. destruct (settling a); [constructor; cbn; auto|].
  destruct (probing a) eqn:P; [constructor; cbn; unfold probe_every; try split; intros; lia|].
  destruct A as [A AP]. specialize (AP eq_refl). cbv zeta.
  assert (G : 0 <= lower l a mean <= max_latency) by (unfold lower; destruct (_ || _)%bool; lia).
  pose proof (fallen_in_range l (level a) (lower l a mean) mean S L).
  destruct (bound_of l (lower l a mean) <? mean); [constructor; cbn; unfold probe_every; try split; intros; lia|].
  destruct p; [|constructor; cbn; unfold probe_every; try split; intros; lia].
  constructor; cbn; unfold probe_every; auto; [destruct (Z.ltb_spec (level a) (most l)); lia|].
  destruct (Z.eqb_spec (age a + 1) 64); split; intros; try discriminate; lia.
Qed.

Theorem complete_keeps_consistent M W s i lat s' :
  consistent M W s -> 0 <= lat -> complete i lat s = Some s' -> consistent M W s'.
Proof.
  intros C LP H. unfold complete in H. destruct (nth_error (flows s) i) as [f|] eqn:N; [|discriminate].
  destruct (Z.leb_spec (flying f) 0); [discriminate|].
  assert (FL : Forall (near M W (vtime s)) (update i (landed f) (flows s))).
  { destruct C. apply Forall_update; [auto|]. pose proof (Forall_nth _ _ _ _ tags_near N) as [].
    constructor; cbn; auto. lia. }
  assert (TQ : total queued (update i (landed f) (flows s)) = waiting s).
  { destruct C. rewrite (total_update _ _ _ f) by auto. unfold queued in *. cbn. lia. }
  assert (TF : total flying (update i (landed f) (flows s)) = in_flight s - 1).
  { destruct C. rewrite (total_update _ _ _ f) by auto. cbn. lia. }
  assert (LM : 0 <= Z.min lat max_latency <= max_latency) by (pose proof latencies_positive; lia).
  destruct C. pose proof limits_sound as [].
  destruct (_ || _)%bool eqn:E in H; injection H as <-.
  - constructor; cbn; auto; lia.
  - assert (MR : 0 <= (latency s + Z.min lat max_latency) / (completed s + 1) <= max_latency).
    { split; [apply Z.div_pos; lia|]. apply Z.div_le_upper_bound; lia. }
    destruct (adapt_paced (bounds s) (pacing s) ((latency s + Z.min lat max_latency) / (completed s + 1))
      (pressed s || (0 <? waiting s))) as [A1 A2 A3]; [constructor; auto|auto|constructor; auto|].
    constructor; cbn; auto; lia.
Qed.

(** Every call keeps the scheduler consistent: its tags near the virtual time, its counters exact, its limit and what is in
    flight within their bounds. Refused calls change nothing. *)
Theorem every_call_keeps_consistent M W s o : consistent M W s -> within M o -> consistent M W (step s o).
Proof.
  intros C H. destruct o as [i op size| |i lat|i k]; cbn in *.
  - destruct (submit i op size s) eqn:E; [|auto]. eapply submit_keeps_consistent; eauto.
  - destruct (next s) as [[[i size] s']|] eqn:E; [|auto]. eapply next_keeps_consistent; eauto.
  - destruct (complete i lat s) eqn:E; [|auto]. eapply complete_keeps_consistent; eauto.
  - destruct (cancel i k s) as [[size s']|] eqn:E; [|auto]. eapply cancel_keeps_consistent; eauto.
Qed.

(** ** A scheduler is consistent at first *)

Lemma multiple_divides cs c : In c cs -> (share c | multiple cs).
Proof.
  unfold multiple. induction cs as [|d cs IH]; cbn; [easy|]. intros [->|I]; [apply Z.divide_lcm_l|].
  etransitivity; [now apply IH|apply Z.divide_lcm_r].
Qed.

Lemma multiple_positive cs : Forall (fun c => 1 <= share c) cs -> 1 <= multiple cs.
Proof.
  unfold multiple. induction 1 as [|c cs P _ IH]; cbn; [lia|].
  pose proof (Z.lcm_nonneg (share c) (fold_right (fun c m => Z.lcm (share c) m) 1 cs)) as L.
  destruct (Z.eq_dec (Z.lcm (share c) (fold_right (fun c m => Z.lcm (share c) m) 1 cs)) 0) as [E|]; [|lia].
  apply Z.lcm_eq_0 in E. lia.
Qed.

(** The factors are exact: each, times its class's share, is the same number. *)
Theorem factors_are_exact cs c :
  Forall (fun c => 1 <= share c) cs -> In c cs -> factor_of cs c * share c = multiple cs /\ 1 <= factor_of cs c.
Proof.
  intros P I. pose proof (multiple_positive cs P) as M. destruct (multiple_divides cs c I) as [q E].
  pose proof (proj1 (Forall_forall _ _) P c I) as S. cbn in S. unfold factor_of. rewrite E, Z.div_mul by lia.
  split; [reflexivity|]. nia.
Qed.

Lemma warp_below_largest cs c : In c cs -> factor_of cs c * warp_bytes c <= largest_warp cs.
Proof.
  unfold largest_warp. generalize (factor_of cs) as F. intros F. induction cs as [|d cs IH]; cbn; [easy|].
  intros [->|I]; [lia|]. specialize (IH I). lia.
Qed.

Lemma total_map (of : flow -> Z) cs l : (forall c, of (flow_of cs c) = 0) -> total of (map (flow_of cs) l) = 0.
Proof. intros H. unfold total. induction l as [|c l IH]; cbn; [reflexivity|]. now rewrite H, IH. Qed.

(** A new scheduler is consistent, whatever its shares, warps and limits. *)
Theorem a_new_one_is_consistent M cs l :
  1 <= M -> Forall (fun c => 1 <= share c /\ 0 <= warp_bytes c) cs -> sound l ->
  consistent M (largest_warp cs) (make cs l).
Proof.
  intros HM P S. pose proof latencies_positive. constructor; cbn; auto; try (destruct S; unfold probe_every; lia).
  - apply Forall_forall. intros f I. apply in_map_iff in I as (c & <- & I).
    assert (SP : Forall (fun c => 1 <= share c) cs) by (eapply Forall_impl; [|exact P]; cbn; lia).
    destruct (factors_are_exact cs c SP I) as [_ F]. pose proof (proj1 (Forall_forall _ _) P c I) as [_ WP].
    pose proof (warp_below_largest cs c I). constructor; cbn; auto using Z.divide_factor_l; try nia; congruence.
  - now rewrite total_map.
  - now rewrite total_map.
Qed.

(** So it is after any calls. *)
Theorem always_consistent M W s os : consistent M W s -> Forall (within M) os -> consistent M W (steps s os).
Proof.
  intros C F. revert s C. induction F as [|o os O _ IH]; intros s C; [auto|].
  apply IH. now apply every_call_keeps_consistent.
Qed.

Lemma step_bounds s o : bounds (step s o) = bounds s.
Proof.
  destruct o as [i op size| |i lat|i k]; cbn.
  - unfold submit. destruct (nth_error _ _); [|auto]. now destruct (_ || _).
  - destruct (next s) as [[[i size] s']|] eqn:H; [|auto]. apply next_spec in H as (? & ? & ? & _ & _ & _ & _ & _ & ->).
    reflexivity.
  - unfold complete. destruct (nth_error _ _); [|auto]. destruct (_ <=? _); [auto|]. now destruct (_ || _)%bool.
  - unfold cancel. destruct (nth_error _ _); [|auto]. now destruct (nth_error _ _).
Qed.

Lemma steps_bounds os : forall s, bounds (steps s os) = bounds s.
Proof. induction os as [|o os IH]; intros s; [auto|]. unfold steps in *. cbn. rewrite IH. apply step_bounds. Qed.

Lemma flying_below_total fs : Forall (fun f => 0 <= flying f) fs -> forall i f, nth_error fs i = Some f ->
  flying f <= total flying fs.
Proof.
  unfold total. induction 1 as [|g fs G F IH]; intros [|i] f N; try discriminate; cbn in *.
  - injection N as ->. assert (0 <= fold_right (fun f n => flying f + n) 0 fs); [|lia].
    clear IH. induction F; cbn; lia.
  - specialize (IH i f N). lia.
Qed.

Lemma flying_at_most M W s i f : consistent M W s -> nth_error (flows s) i = Some f ->
  0 <= flying f <= most (bounds s).
Proof.
  intros [] N. split; [now destruct (Forall_nth _ _ _ _ tags_near N)|].
  transitivity (in_flight s); [|auto]. rewrite counts_flying. apply (flying_below_total _) with (i := i); auto.
  eapply Forall_impl; [|exact tags_near]. now intros ? [].
Qed.

(** ** Which request goes, and when *)

(** Work conservation: a request goes if and only if one waits and fewer are in flight than the limit says. *)
Theorem work_is_conserved M W s :
  consistent M W s -> next s <> None <-> 0 < waiting s /\ in_flight s < limit s.
Proof.
  intros []. rewrite counts_waiting. split.
  - intros H. destruct (next s) as [[[i size] s']|] eqn:E; [|congruence].
    apply next_spec in E as (f & rest & v & N & Q & _ & _ & L & _). split; [|auto].
    pose proof (total_update queued (flows s) i f (Flow 0 0 0 0 0 [] 0 0) N) as U.
    pose proof (total_nonneg (update i (Flow 0 0 0 0 0 [] 0 0) (flows s))). unfold queued in U at 3 4. cbn in U.
    rewrite Q in U. cbn [length] in U. lia.
  - intros [P L]. unfold next. destruct (Z.leb_spec (limit s) (in_flight s)); [lia|].
    pose proof (scan_all (flows s)) as B. destruct (scan 0 (flows s) None) as [r|].
    + destruct B as ((f & N & NE & _) & _). rewrite N. destruct (queue f); congruence.
    + rewrite (total_zero _ B) in P. lia.
Qed.

(** Nothing goes while as many are in flight as the limit says, or more. *)
Theorem nothing_goes_at_the_limit s : limit s <= in_flight s -> next s = None.
Proof. intros L. unfold next. destruct (Z.leb_spec (limit s) (in_flight s)); [reflexivity|lia]. Qed.

(** The class that goes is one with requests waiting, none of which has a lesser tag when warps are taken off. *)
Theorem the_least_goes M W s i size s' f :
  consistent M W s -> next s = Some (i, size, s') -> nth_error (flows s) i = Some f ->
  exists rest, queue f = size :: rest /\
    forall j g, nth_error (flows s) j = Some g -> queue g <> [] -> tag f - warp f <= tag g - warp g.
Proof.
  intros [] H N. apply next_spec in H as (f' & rest & v & N' & Q & _ & F & _). rewrite N in N'. injection N' as <-.
  exists rest. split; [auto|]. intros j g NJ QG. destruct (Forall_nth _ _ _ _ F NJ QG) as [K _].
  pose proof (Forall_nth _ _ _ _ tags_near N) as []. pose proof (Forall_nth _ _ _ _ tags_near NJ) as []. lia.
Qed.
