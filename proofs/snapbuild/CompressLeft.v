(* SPDX-License-Identifier: PostgreSQL *)
(** * What compression by vector registers leaves in each cell of the array *)
From Coq Require Import ZArith Lia List.
From stdpp Require Import base option list.
From Pgquern.snapbuild Require Import Memory MemoryFacts Spec Algorithms KnownAssigned CompressRegisters CompressRegistersFacts
  Leftovers.
Local Open Scope Z_scope.

Section left.
  Context (pack : list Z -> list Z -> list Z) (lanes : nat) (Packs : packs_live pack).
  Context (tail : Z) (stale xs vs dead_v : list Z) (valid : memory).
  Context (V : array valid 0 (dead_v ++ vs)) (Ld : zlength dead_v = tail) (L : length xs = length vs).

  (* Of the entries (xs, vs), (dx, dv) were read; the live XIDs stand at 0, then [left], then the others. *)
  Definition left_is (left dx dv tx tv : list Z) (s : Z * Z * memory) : Prop :=
    let '(r, w, xids) := s in
    xs = dx ++ tx /\ vs = dv ++ tv /\ length dx = length dv /\ r = tail + zlength dx /\ w = zlength (live dx dv) /\
    r = w + zlength left /\ array xids 0 (live dx dv ++ left ++ tx).

  Lemma groups_leave : forall groups k dx dv tx tv r w xids,
    left_is (leftovers pack lanes k stale xs vs) dx dv tx tv (r, w, xids) -> length dx = (k * lanes)%nat ->
    (groups * lanes <= length tx)%nat ->
    exists dx' dv' tx' tv' w' xids', compress_groups pack lanes groups r w xids valid = Some (w', xids') /\
      left_is (leftovers pack lanes (groups + k) stale xs vs) dx' dv' tx' tv' (r + Z.of_nat (groups * lanes), w', xids') /\
      length dx' = ((groups + k) * lanes)%nat.
  Proof.
    induction groups as [|groups IH]; intros k dx dv tx tv r w xids I K N.
    - exists dx, dv, tx, tv, w, xids. cbn [compress_groups Nat.mul Nat.add]. rewrite Z.add_0_r. auto.
    - destruct I as (Ex & Ev & Ldx & R & W & Rx & X). cbn [Nat.mul] in N.
      assert (Lt : length tx = length tv) by (rewrite Ex, Ev, !app_length in L; lia).
      destruct (cut_at tx lanes ltac:(lia)) as (x & tx' & -> & Lx & Lx').
      destruct (cut_at tv lanes ltac:(lia)) as (v & tv' & -> & Lv & Lv').
      set (left := leftovers pack lanes k stale xs vs) in *.
      assert (Rv : read valid r lanes = Some v).
      { rewrite <- Lv. apply array_read. rewrite Ev in V. rewrite !(app_assoc dead_v) in V. apply array_app in V as [_ V'].
        apply array_app in V' as [V' _]. rewrite app_length in V'.
        replace r with (0 + Z.of_nat (length dead_v + length dv)) by lia. exact V'. }
      assert (Rd : read xids r lanes = Some x).
      { rewrite <- Lx. apply array_read. rewrite app_assoc in X. apply array_app in X as [_ X'].
        apply array_app in X' as [X' _]. rewrite app_length in X'.
        replace r with (0 + Z.of_nat (length (live dx dv) + length left)) by lia. exact X'. }
      cbn [compress_groups]. rewrite Rd. cbn [mbind option_bind]. rewrite Rv. cbn [mbind option_bind].
      destruct (Packs x v ltac:(lia)) as (others & P & Lp).
      rewrite (app_assoc left), <- (firstn_skipn lanes (left ++ x)), <- (app_assoc (firstn _ _)) in X.
      assert (Lf : length (firstn lanes (left ++ x)) = lanes) by (rewrite firstn_length, app_length; lia).
      destruct (write_in_array _ _ _ _ (pack x v) _ X ltac:(lia)) as (xids' & Wr & X' & _).
      rewrite Z.add_0_l, <- W in Wr. rewrite Wr. cbn [mbind option_bind].
      assert (Next : leftovers pack lanes (S k) stale xs vs = others ++ skipn lanes (left ++ x)).
      { assert (Hx : firstn lanes (skipn (k * lanes) xs) = x) by (rewrite Ex, <- K; now apply next_entries).
        assert (Hv : firstn lanes (skipn (k * lanes) vs) = v) by (rewrite Ev, <- K, Ldx; now apply next_entries).
        cbn [leftovers]. rewrite Hx, Hv. fold left. rewrite P, skipn_app, skipn_all, Nat.sub_diag. reflexivity. }
      rewrite P in X', Lp. rewrite app_length in Lp. pose proof (skipn_length lanes (left ++ x)) as Sk.
      rewrite app_length in Sk.
      destruct (IH (S k) (dx ++ x) (dv ++ v) tx' tv' (r + Z.of_nat lanes) (w + zlength (live x v)) xids')
        as (dx' & dv' & tx2 & tv2 & w' & xids2 & C & I & K').
      + unfold left_is. rewrite Next, live_app, !app_length by exact Ldx.
        repeat split; try lia; [now rewrite Ex, <- app_assoc|now rewrite Ev, <- app_assoc|].
        rewrite <- !app_assoc in *. exact X'.
      + rewrite app_length. lia.
      + rewrite app_length in N. lia.
      + exists dx', dv', tx2, tv2, w', xids2. split; [exact C|]. cbn [Nat.mul].
        replace (r + Z.of_nat (lanes + groups * lanes)) with (r + Z.of_nat lanes + Z.of_nat (groups * lanes)) by lia.
        replace (S groups + k)%nat with (groups + S k)%nat by lia. auto.
  Qed.

  Lemma rest_leaves : forall tx tv left dx dv r w xids fuel, left_is left dx dv tx tv (r, w, xids) -> (length tx <= fuel)%nat ->
    exists xids', while fuel (slide_test (tail + zlength xs)) (compress_branchless_body valid) (r, w, xids) =
        Some (tail + zlength xs, zlength (live xs vs), xids') /\
      array xids' 0 (live xs vs ++ leftovers_of_rest left tx tv).
  Proof.
    induction tx as [|x tx IH]; intros tv left dx dv r w xids fuel (Ex & Ev & Ldx & R & W & Rx & X) F.
    - assert (tv = []) as ->.
      { apply length_zero_iff_nil. rewrite Ex, Ev, !app_length in L. cbn [length] in L. lia. }
      rewrite !app_nil_r in *. subst dx dv. exists xids.
      assert (T : slide_test (tail + zlength xs) (r, w, xids) = Some false)
        by (cbn [slide_test]; f_equal; apply Z.ltb_ge; lia).
      assert (E : while fuel (slide_test (tail + zlength xs)) (compress_branchless_body valid) (r, w, xids) = Some (r, w, xids))
        by (destruct fuel; cbn [while]; rewrite T; reflexivity).
      rewrite E, <- R, <- W. cbn [leftovers_of_rest]. auto.
    - assert (Lt : length (x :: tx) = length tv) by (rewrite Ex, Ev, !app_length in L; lia).
      destruct tv as [|v tv]; [discriminate|]. destruct fuel as [|fuel]; [cbn in F; lia|].
      pose proof (live_snoc dx dv x v Ldx) as K.
      assert (T : slide_test (tail + zlength xs) (r, w, xids) = Some true)
        by (cbn [slide_test]; f_equal; apply Z.ltb_lt; rewrite Ex, app_length; cbn [length]; lia).
      assert (Lx : load xids r = Some x).
      { rewrite app_assoc in X. apply load_in_array in X. rewrite app_length in X. rewrite <- X. f_equal. lia. }
      assert (Lv : load valid r = Some v).
      { rewrite Ev, app_assoc in V. apply load_in_array in V. rewrite app_length in V. rewrite <- V. f_equal. lia. }
      cbn [while]. rewrite T. cbn [mbind option_bind compress_branchless_body]. rewrite Lx. cbn [mbind option_bind].
      change (x :: tx) with ([x] ++ tx) in X. rewrite (app_assoc left) in X.
      destruct (left ++ [x]) as [|cx moved] eqn:M; [now destruct left|]. cbn [app] in X.
      assert (Lm : length moved = length left).
      { apply (f_equal (@length Z)) in M. rewrite app_length in M. cbn [length] in M. lia. }
      destruct (store_in_array _ _ _ _ _ x X) as (xids' & Sx & X' & _). rewrite Z.add_0_l, <- W in Sx. rewrite Sx.
      cbn [mbind option_bind]. rewrite Lv. cbn [mbind option_bind leftovers_of_rest]. rewrite M. cbn [skipn].
      destruct (Z.eqb_spec v 0).
      + apply (IH tv (x :: moved) (dx ++ [x]) (dv ++ [v]) (r + 1) w xids' fuel); [|cbn in F; lia].
        unfold left_is. rewrite K, app_nil_r, !app_length. cbn [length app].
        repeat split; try lia; [now rewrite Ex, <- app_assoc|now rewrite Ev, <- app_assoc|exact X'].
      + apply (IH tv moved (dx ++ [x]) (dv ++ [v]) (r + 1) (w + 1) xids' fuel); [|cbn in F; lia].
        unfold left_is. rewrite K, !app_length. cbn [length app].
        repeat split; try lia; [now rewrite Ex, <- app_assoc|now rewrite Ev, <- app_assoc|now rewrite <- app_assoc].
  Qed.
End left.

Lemma compress_registers_leaves : forall pack lanes xs vs dead_x dead_v xids valid, packs_live pack -> (0 < lanes)%nat ->
  length xs = length vs -> length dead_x = length dead_v -> array xids 0 (dead_x ++ xs) -> array valid 0 (dead_v ++ vs) ->
  let tail := zlength dead_x in
  exists xids' valid',
    compress_registers pack lanes tail (tail + zlength xs) xids valid = Some (zlength (live xs vs), xids', valid') /\
    array xids' 0 (live xs vs ++ left_by pack lanes dead_x xs vs).
Proof.
  intros pack lanes xs vs dead_x dead_v xids valid Packs Lanes L Ld X V tail.
  destruct (compress_registers_keeps_live pack lanes xs vs dead_x dead_v xids valid Packs Lanes L Ld X V)
    as (xids' & valid' & E & _). exists xids', valid'. split; [exact E|]. revert E. unfold compress_registers. cbn zeta.
  fold tail. replace (tail + zlength xs - tail) with (zlength xs) by lia. rewrite Nat2Z.id.
  pose proof (Nat.div_mod (length xs) lanes ltac:(lia)) as D. unfold left_by. set (q := (length xs / lanes)%nat) in *.
  set (rest := (length xs mod lanes)%nat) in *. assert (E : zlength xs = Z.of_nat (q * lanes) + Z.of_nat rest) by nia.
  destruct (groups_leave pack lanes Packs tail dead_x xs vs dead_v valid V ltac:(lia) L q 0 [] [] xs vs tail 0 xids)
    as (dx & dv & tx & tv & w & x1 & -> & I & K).
  { unfold left_is. cbn. subst tail. repeat split; auto; lia. }
  { reflexivity. }
  { lia. }
  rewrite Nat.add_0_r in *. cbn [mbind option_bind].
  replace (tail + zlength xs - Z.of_nat rest) with (tail + Z.of_nat (q * lanes)) by lia.
  pose proof I as (Ex & Ev & Ldx & _).
  destruct (rest_leaves tail xs vs dead_v valid V ltac:(lia) L tx tv _ dx dv _ w x1 rest I) as (x2 & -> & X2).
  { rewrite Ex, app_length in E. lia. }
  cbn [mbind option_bind]. intros G.
  assert (x2 = xids') as <- by (destruct (write valid 0 _); [|discriminate]; cbn [mbind option_bind] in G; congruence).
  replace (skipn (q * lanes) xs) with tx by (rewrite Ex, <- K, skipn_app, skipn_all, Nat.sub_diag; reflexivity).
  replace (skipn (q * lanes) vs) with tv by (rewrite Ev, <- K, Ldx, skipn_app, skipn_all, Nat.sub_diag; reflexivity).
  exact X2.
Qed.
