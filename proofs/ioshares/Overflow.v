(* SPDX-License-Identifier: PostgreSQL *)
(** * 64 bits are enough, for ever: tags start again before they overflow, and nobody can see it *)
From Pgquern.common Require Import Integers.
From Pgquern.ioshares Require Import Algorithms Spec Consistent.

(** ** The same, but for tags that are k lower *)

(** Of two classes that agree in all else, the tag of one is k lower; if none waits, what counts is the tag or the virtual
    time. *)
Record alike (k v : Z) (f g : flow) : Prop := Alike {
  alike_capacity : capacity g = capacity f;
  alike_factor : factor g = factor f;
  alike_warp : warp g = warp f;
  alike_handicap : handicap g = handicap f;
  alike_queue : queue g = queue f;
  alike_flying : flying g = flying f;
  alike_charged : charged g = charged f;
  alike_idle : Z.max (tag f) v = Z.max (tag g) (v - k) + k;
  alike_tag : queue f <> [] -> tag f = tag g + k }.

Record shifted (k : Z) (s t : state) : Prop := Shifted {
  shifted_flows : Forall2 (alike k (vtime s)) (flows s) (flows t);
  shifted_vtime : vtime s = vtime t + k;
  shifted_waiting : waiting t = waiting s;
  shifted_in_flight : in_flight t = in_flight s;
  shifted_bounds : bounds t = bounds s;
  shifted_pacing : pacing t = pacing s;
  shifted_completed : completed t = completed s;
  shifted_latency : latency t = latency s;
  shifted_pressed : pressed t = pressed s }.

Lemma alike_refl v f : alike 0 v f f.
Proof. constructor; auto; intros; rewrite ?Z.sub_0_r; lia. Qed.

Lemma shifted_refl s : shifted 0 s s.
Proof. constructor; auto; [|lia]. induction (flows s); constructor; auto using alike_refl. Qed.

Lemma nth_alike {P : flow -> flow -> Prop} fs gs : Forall2 P fs gs -> forall i,
  match nth_error fs i, nth_error gs i with Some f, Some g => P f g | None, None => True | _, _ => False end.
Proof. induction 1 as [|f g fs gs A F IH]; intros [|i]; cbn; auto. apply IH. Qed.

Lemma update_alike {P : flow -> flow -> Prop} fs gs f g : Forall2 P fs gs -> P f g -> forall i,
  Forall2 P (update i f fs) (update i g gs).
Proof. induction 1 as [|x y fs gs A F IH]; intros X [|i]; cbn; constructor; auto. Qed.

(** ** Each call *)

Lemma scan_shifted k v fs gs : Forall2 (alike k v) fs gs -> forall i b c,
  match b, c with
  | None, None => True
  | Some b, Some c => chosen c = chosen b /\ least_key b = least_key c + k /\ least_tag b = least_tag c + k
  | _, _ => False
  end ->
  match scan i fs b, scan i gs c with
  | None, None => True
  | Some b, Some c => chosen c = chosen b /\ least_key b = least_key c + k /\ least_tag b = least_tag c + k
  | _, _ => False
  end.
Proof.
  induction 1 as [|f g fs gs [] F IH]; intros i b c B; cbn; [exact B|]. apply IH. unfold look. rewrite alike_queue0.
  destruct (queue f) eqn:Q; [exact B|]. rewrite alike_handicap0, alike_tag0 by congruence.
  destruct b as [b|], c as [c|]; try easy; cbn.
  - destruct B as (C & K & T). rewrite K, T.
    replace (tag g + k + handicap f <? least_key c + k) with (tag g + handicap f <? least_key c)
      by (destruct (Z.ltb_spec (tag g + handicap f) (least_key c)), (Z.ltb_spec (tag g + k + handicap f) (least_key c + k)); lia).
    replace (tag g + k <? least_tag c + k) with (tag g <? least_tag c)
      by (destruct (Z.ltb_spec (tag g) (least_tag c)), (Z.ltb_spec (tag g + k) (least_tag c + k)); lia).
    destruct (tag g + handicap f <? least_key c), (tag g <? least_tag c); cbn; lia.
  - lia.
Qed.

Lemma submit_shifted k s t i op size : shifted k s t ->
  match submit i op size s, submit i op size t with
  | Some s', Some t' => shifted k s' t'
  | None, None => True
  | _, _ => False
  end.
Proof.
  intros []. unfold submit. pose proof (nth_alike _ _ shifted_flows0 i) as N.
  destruct (nth_error (flows s) i) as [f|], (nth_error (flows t) i) as [g|]; try easy.
  rewrite (alike_queue _ _ _ _ N), (alike_capacity _ _ _ _ N). destruct (_ || _)%bool; [easy|].
  constructor; cbn; auto; [|lia]. apply update_alike; auto. destruct N.
  unfold enqueue. constructor; cbn; rewrite ?alike_queue0; auto;
    destruct (queue f) eqn:Q; intros;
    rewrite ?alike_tag0 by discriminate;
    try destruct (Z.ltb_spec (tag f) (vtime s)); try destruct (Z.ltb_spec (tag g) (vtime t)); lia.
Qed.

Lemma complete_shifted k s t i lat : shifted k s t ->
  match complete i lat s, complete i lat t with
  | Some s', Some t' => shifted k s' t'
  | None, None => True
  | _, _ => False
  end.
Proof.
  intros []. unfold complete. pose proof (nth_alike _ _ shifted_flows0 i) as N.
  destruct (nth_error (flows s) i) as [f|], (nth_error (flows t) i) as [g|]; try easy.
  rewrite (alike_flying _ _ _ _ N). destruct (flying f <=? 0); [easy|].
  rewrite shifted_completed0, shifted_latency0, shifted_waiting0, shifted_pressed0, shifted_bounds0, shifted_pacing0,
    shifted_in_flight0.
  assert (F : Forall2 (alike k (vtime s)) (update i (landed f) (flows s)) (update i (landed g) (flows t))).
  { apply update_alike; auto. destruct N. constructor; cbn; auto. lia. }
  destruct (_ || _)%bool; constructor; cbn; auto.
Qed.

Lemma cancel_shifted k s t i p : shifted k s t ->
  match cancel i p s, cancel i p t with
  | Some (a, s'), Some (b, t') => a = b /\ shifted k s' t'
  | None, None => True
  | _, _ => False
  end.
Proof.
  intros []. unfold cancel. pose proof (nth_alike _ _ shifted_flows0 i) as N.
  destruct (nth_error (flows s) i) as [f|], (nth_error (flows t) i) as [g|]; try easy.
  rewrite (alike_queue _ _ _ _ N). destruct (nth_error (queue f) p) as [z|] eqn:Z; [|easy]. split; [reflexivity|].
  constructor; cbn; auto; [|lia]. apply update_alike; auto. destruct N.
  assert (NE : queue f <> []) by (intros E; rewrite E in Z; now destruct p).
  constructor; cbn [without capacity factor warp handicap tag queue flying charged]; auto. now rewrite alike_queue0.
Qed.

Lemma later k v v' f g : alike k v f g -> v <= v' -> alike k v' f g.
Proof. intros [] L. constructor; auto. lia. Qed.

Lemma next_shifted M W k s t : consistent M W s -> shifted k s t ->
  match next s, next t with
  | Some (i, a, s'), Some (j, b, t') => i = j /\ a = b /\ shifted k s' t'
  | None, None => True
  | _, _ => False
  end.
Proof.
  intros C S. pose proof S as [].
  destruct (next s) as [[[i a] s']|] eqn:E.
  - pose proof (next_near M W s i a s' C E) as [V _]. revert E. unfold next. unfold limit. rewrite shifted_bounds0, shifted_pacing0, shifted_in_flight0. fold (limit s).
    destruct (limit s <=? in_flight s); [discriminate|].
    pose proof (scan_shifted k (vtime s) _ _ shifted_flows0 0 None None I) as B.
    destruct (scan 0 (flows s) None) as [b|]; [|discriminate]. destruct (scan 0 (flows t) None) as [c|]; [|easy].
    destruct B as (-> & _ & T). pose proof (nth_alike _ _ shifted_flows0 (chosen b)) as N.
    destruct (nth_error (flows s) (chosen b)) as [f|]; [|discriminate].
    destruct (nth_error (flows t) (chosen b)) as [g|]; [|easy]. rewrite (alike_queue _ _ _ _ N).
    destruct (queue f) as [|size rest] eqn:Q; [discriminate|]. intros [= <- <- <-]. cbn in V.
    split; [reflexivity|]. split; [reflexivity|]. constructor; cbn; auto; try lia.
    apply update_alike.
    + clear - shifted_flows0 V. induction shifted_flows0; constructor; eauto using later.
    + apply (later k (vtime s)); [|auto]. destruct N. unfold go.
      assert (queue f <> []) by congruence. constructor; cbn; auto; rewrite ?alike_factor0; intros;
        rewrite ?alike_tag0 by auto; lia.
  - revert E. unfold next. unfold limit. rewrite shifted_bounds0, shifted_pacing0, shifted_in_flight0. fold (limit s).
    destruct (limit s <=? in_flight s); [easy|].
    pose proof (scan_shifted k (vtime s) _ _ shifted_flows0 0 None None I) as B.
    destruct (scan 0 (flows s) None) as [b|], (scan 0 (flows t) None) as [c|]; try easy.
    destruct B as (-> & _ & T). pose proof (nth_alike _ _ shifted_flows0 (chosen b)) as N.
    destruct (nth_error (flows s) (chosen b)) as [f|], (nth_error (flows t) (chosen b)) as [g|]; try easy.
    rewrite (alike_queue _ _ _ _ N). now destruct (queue f).
Qed.

Lemma rebase_shifted M W k s t : consistent M W s -> shifted k s t -> exists k', shifted k' s (rebase t).
Proof.
  intros C []. unfold rebase. destruct (rebase_at <=? vtime t); [|exists k; constructor; auto].
  exists (vtime s). constructor; cbn; auto; try lia.
  pose proof (tags_near _ _ _ C) as T. clear C. induction shifted_flows0 as [|f g fs gs A F IH]; cbn; [constructor|].
  inversion T; subst. constructor; [|auto]. destruct A, H1. unfold lowered, lead.
  constructor; cbn; auto.
  - destruct (Z.ltb_spec (vtime t) (tag g)); lia.
  - intros NE. specialize (alike_tag0 NE). specialize (tag_not_behind NE). destruct (Z.ltb_spec (vtime t) (tag g)); lia.
Qed.

Lemma one_call_shifted M W k s t o : consistent M W s -> within M o -> shifted k s t ->
  reply_rebased t o = reply s o /\ exists k', shifted k' (step s o) (step_rebased t o).
Proof.
  intros C WI S. destruct o as [i op size| |i lat|i p]; cbn.
  - pose proof (submit_shifted k s t i op size S) as H. destruct (submit i op size s), (submit i op size t); try easy; eauto.
  - pose proof (next_shifted M W k s t C S) as H. pose proof (next_keeps_consistent M W s) as K. unfold next_rebased.
    destruct (next s) as [[[i a] s']|], (next t) as [[[j b] t']|]; try easy; [|eauto].
    destruct H as (<- & <- & S'). split; [reflexivity|]. eapply rebase_shifted; [|exact S']. eapply K; eauto.
  - pose proof (complete_shifted k s t i lat S) as H. destruct (complete i lat s), (complete i lat t); try easy; eauto.
  - pose proof (cancel_shifted k s t i p S) as H. destruct (cancel i p s) as [[a s']|], (cancel i p t) as [[b t']|]; try easy; [|eauto].
    destruct H as [<- H]. eauto.
Qed.

Lemma run_shifted M W os : forall k s t, consistent M W s -> Forall (within M) os -> shifted k s t ->
  replies_rebased t os = replies s os /\ exists k', shifted k' (steps s os) (steps_rebased t os).
Proof.
  induction os as [|o os IH]; intros k s t C F S; [cbn; eauto|]. inversion F; subst.
  destruct (one_call_shifted M W k s t o) as (R & k' & S'); auto.
  destruct (IH k' (step s o) (step_rebased t o)) as (R' & k'' & S''); auto; [now apply every_call_keeps_consistent|].
  cbn. rewrite R, R'. split; [reflexivity|]. exists k''. exact S''.
Qed.

(** Tags that start again are invisible: after any calls, every call answers as it would with numbers without bound. *)
Theorem rebase_is_invisible M W s os :
  consistent M W s -> Forall (within M) os -> replies_rebased s os = replies s os.
Proof. intros C F. exact (proj1 (run_shifted M W os 0 s s C F (shifted_refl s))). Qed.

(** ** Bounds *)

(** What the checks of a configuration ensure. *)
Record modest (s : state) : Prop := Modest {
  factors_modest : Forall (fun f => factor f <= max_factor /\ warp f <= max_bytes * factor f) (flows s);
  vtime_modest : 0 <= vtime s < rebase_at;
  tags_positive : Forall (fun f => 0 <= tag f) (flows s) }.

(** One call keeps this. *)
Lemma modest_step M W s o : consistent M W s -> M <= max_cost -> within M o -> modest s ->
  consistent M W (step_rebased s o) /\ modest (step_rebased s o).
Proof.
  intros C HM WI []. destruct o as [i op size| |i lat|i k]; cbn.
  - destruct (submit i op size s) as [s'|] eqn:H; [|split; [auto|constructor; auto]].
    split; [eapply submit_keeps_consistent; eauto|]. unfold submit in H.
    destruct (nth_error (flows s) i) as [f|] eqn:N; [|discriminate]. destruct (_ || _)%bool; [discriminate|].
    injection H as <-. constructor; cbn; auto; (apply Forall_update; [auto|]); unfold enqueue; cbn.
    + apply (Forall_nth _ _ _ _ factors_modest0 N).
    + pose proof (Forall_nth _ _ _ _ tags_positive0 N). cbn in *.
      destruct (queue f); [destruct (Z.ltb_spec (tag f) (vtime s)); lia|auto].
  - unfold next_rebased. destruct (next s) as [[[i size] s']|] eqn:H; [|split; [auto|constructor; auto]].
    pose proof (next_keeps_consistent M W s i size s' C H) as C'.
    pose proof (next_near M W s i size s' C H) as [V _].
    assert (F : Forall (fun f => factor f <= max_factor /\ warp f <= max_bytes * factor f) (flows s')
                /\ Forall (fun f => 0 <= tag f) (flows s')).
    { apply next_spec in H as (f & rest & v & N & Q & _ & _ & _ & ->). cbn.
      pose proof (Forall_nth _ _ _ _ factors_modest0 N) as FF. pose proof (Forall_nth _ _ _ _ tags_positive0 N) as FT.
      destruct C. pose proof (Forall_nth _ _ _ _ tags_near N) as []. rewrite Q in sizes_within. inversion sizes_within; subst.
      split; apply Forall_update; cbn in *; auto. nia. }
    destruct F as [F T]. unfold rebase. destruct (Z.leb_spec rebase_at (vtime s')).
    + split.
      * destruct C'. constructor; cbn; auto.
        -- apply Forall_map. eapply Forall_impl; [|exact tags_near]. intros f []. unfold lowered, lead.
           constructor; cbn; auto; destruct (Z.ltb_spec (vtime s') (tag f)); intros; try lia; nia.
        -- rewrite counts_waiting. unfold total. clear. induction (flows s') as [|f fs IH]; cbn; [auto|]. now rewrite IH.
        -- rewrite counts_flying. unfold total. clear. induction (flows s') as [|f fs IH]; cbn; [auto|]. now rewrite IH.
      * constructor; cbn.
        -- apply Forall_map. eapply Forall_impl; [|exact F]. auto.
        -- unfold rebase_at. lia.
        -- apply Forall_map. eapply Forall_impl; [|exact T]. intros f P. unfold lowered, lead. cbn.
           destruct (Z.ltb_spec (vtime s') (tag f)); lia.
    + split; [auto|]. constructor; auto. lia.
  - destruct (complete i lat s) as [s'|] eqn:H; [|split; [auto|constructor; auto]].
    split; [eapply complete_keeps_consistent; eauto|]. unfold complete in H.
    destruct (nth_error (flows s) i) as [f|] eqn:N; [|discriminate]. destruct (flying f <=? 0); [discriminate|].
    assert (E : flows s' = update i (landed f) (flows s) /\ vtime s' = vtime s)
      by (destruct (_ || _)%bool; injection H as <-; auto).
    destruct E as [E1 E2]. constructor; rewrite ?E1, ?E2; auto; (apply Forall_update; [auto|]).
    + apply (Forall_nth _ _ _ _ factors_modest0 N).
    + apply (Forall_nth _ _ _ _ tags_positive0 N).
  - destruct (cancel i k s) as [[size s']|] eqn:H; [|split; [auto|constructor; auto]].
    split; [eapply cancel_keeps_consistent; eauto|]. unfold cancel in H.
    destruct (nth_error (flows s) i) as [f|] eqn:N; [|discriminate]. destruct (nth_error (queue f) k); [|discriminate].
    injection H as <- <-. constructor; cbn; auto; (apply Forall_update; [auto|]).
    + apply (Forall_nth _ _ _ _ factors_modest0 N).
    + apply (Forall_nth _ _ _ _ tags_positive0 N).
Qed.

Lemma step_rebased_bounds s o : bounds (step_rebased s o) = bounds s.
Proof.
  rewrite <- (step_bounds s o). destruct o; cbn; auto. unfold next_rebased. destruct (next s) as [[[i size] s']|]; [|auto].
  unfold rebase. now destruct (_ <=? _).
Qed.

Lemma run_keeps_modest M W s os : consistent M W s -> M <= max_cost -> modest s -> Forall (within M) os ->
  consistent M W (steps_rebased s os) /\ modest (steps_rebased s os) /\ bounds (steps_rebased s os) = bounds s.
Proof.
  intros C HM MO F. revert s C MO. induction F as [|o os O _ IH]; intros s C MO; [auto|].
  destruct (modest_step M W s o); auto. assert (B := step_rebased_bounds s o).
  cbn [steps_rebased fold_left]. destruct (IH (step_rebased s o)) as (I1 & I2 & I3); auto.
  split; [exact I1|]. split; [exact I2|]. unfold steps_rebased in *. now rewrite I3.
Qed.

(** After any number of calls, and so after any number of bytes served: every tag, every sum that a comparison takes, every
    tag after one more request, the sum of a window's latencies, and what the limit is computed of, are at least 0 and below
    2^63. *)
Theorem tags_fit M W s os :
  consistent M W s -> modest s -> M <= max_cost -> W <= max_bytes * max_factor -> most (bounds s) <= 2 ^ 15 ->
  Forall (within M) os ->
  let t := steps_rebased s os in
  0 <= vtime t < 2 ^ 61 /\ 0 <= latency t + max_latency < 2 ^ 63 /\
  0 <= level (pacing t) * max_latency * 5 < 2 ^ 63 /\ 0 <= floor (pacing t) * 7 < 2 ^ 63 /\ max_latency * 4 < 2 ^ 63 /\
  Forall (fun f => 0 <= tag f < 2 ^ 63 /\ 0 <= tag f + handicap f < 2 ^ 63 /\
                   0 <= tag f + factor f * max_cost < 2 ^ 63) (flows t).
Proof.
  intros C MO HM HW HL F. pose proof (run_keeps_modest M W s os C HM MO F) as K.
  destruct K as ([] & [] & B). cbv zeta. unfold rebase_at in *. rewrite B in *. split; [auto|]. destruct limits_sound.
  change max_latency with 1099511627776 in *; change max_window with 65536 in *.
  split; [lia|]. split; [lia|]. split; [lia|]. split; [lia|].
  apply Forall_forall. intros f I. pose proof (proj1 (Forall_forall _ _) tags_near f I) as [].
  pose proof (proj1 (Forall_forall _ _) factors_modest0 f I) as [].
  pose proof (proj1 (Forall_forall _ _) tags_positive0 f I). cbn in *.
  change max_bytes with 1073741824 in *. change max_factor with 1073741824 in *.
  change max_cost with 2147483648 in *.
  assert (factor f * M <= 1073741824 * 2147483648) by nia. assert (factor f * 2147483648 <= 1073741824 * 2147483648) by nia. nia.
Qed.
