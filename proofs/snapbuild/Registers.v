(* SPDX-License-Identifier: PostgreSQL *)
(** * The purge by whole vector registers, in place

    The kernels load a group of registers, then store each with its survivors packed to the left (`scalar`: one lane): all
    lanes are stored, also those past the survivors, whatever they hold.  Blocks of long arrays, and groups of `scalar`, are
    looked at first: one that stays where it is, or of which all goes, is not stored at all.  A schedule says how wide the
    registers are, group by group, and which groups are looked at; that any schedule is right shows that the stores reach
    nothing unread, and that it does not matter when the kernel chooses to look.  (A block that stays but moves is copied:
    that is the same store, since packing changes nothing where all lanes stay.) *)
From Coq Require Import ZArith Lia List.
From stdpp Require Import base option list.
From Pgquern.snapbuild Require Import Memory MemoryFacts Spec Purge KeepRegisters.
Local Open Scope Z_scope.

(* Nothing of what is read at r need be stored at w: all stays where it is, or none stays. *)
Definition idle (xmin r w : Z) (data : list Z) : bool :=
  ((r =? w) && forallb (keeps xmin) data) || forallb (fun x => negb (keeps xmin x)) data.

Fixpoint purge_registers (pack : list Z -> list Z) (xmin : Z) (schedule : list (bool * list nat)) (r w : Z)
    (a : memory) : option (Z * memory) :=
  match schedule with
  | [] => Some (w, a)
  | (look, widths) :: schedule =>
      registers ← load_registers a r widths;
      '(w, a) ← (if look && idle xmin r w (concat registers)
                 then Some (w + zlength (kept xmin (concat registers)), a)
                 else store_registers pack xmin a w registers);
      purge_registers pack xmin schedule (r + Z.of_nat (list_sum widths)) w a
  end.

(** Groups of four registers of [lanes] each, then single ones, then [rest] for what is left. *)
Definition schedule_of (lanes n : nat) (rest : nat -> list (list nat)) : list (list nat) :=
  let group := (4 * lanes)%nat in
  repeat [lanes; lanes; lanes; lanes] (n / group)%nat ++
  repeat [lanes] (n mod group / lanes)%nat ++
  rest ((n mod group) mod lanes)%nat.

(** AVX2: eight lanes, and one XID at a time at the end.  AVX-512: sixteen lanes, and one masked register at the end. *)
Definition avx2_schedule (n : nat) : list (list nat) := schedule_of 8 n (fun k => repeat [1%nat] k).
Definition avx512_schedule (n : nat) : list (list nat) := schedule_of 16 n (fun k => [[k]]).

Section registers.
  Context (pack : list Z -> list Z) (xmin : Z) (Packs : packs xmin pack).

  Lemma load_registers_spec a front todo : forall r widths data, r = zlength front ->
    array a 0 (front ++ data ++ todo) -> length data = list_sum widths ->
    exists registers, load_registers a r widths = Some registers /\ concat registers = data.
  Proof.
    intros r widths. revert r front. induction widths as [|width widths IH]; intros r front data R A L; simpl in L.
    - destruct data; [|discriminate]. exists []. auto.
    - destruct (cut_at data width) as (d1 & d2 & -> & L1 & L2); [lia|]. rewrite app_length in L2.
      destruct (IH (r + Z.of_nat width) (front ++ d1) d2) as (registers & E & C).
      + rewrite app_length. lia.
      + rewrite <- !app_assoc in *. exact A.
      + rewrite app_length in L. lia.
      + exists (d1 :: registers). simpl. rewrite <- L1.
        pose proof A as A'. apply array_app in A'. destruct A' as [_ A']. rewrite <- app_assoc in A'.
        apply array_app in A'. destruct A' as [A' _]. rewrite Z.add_0_l, <- R in A'. rewrite (array_read _ _ _ A').
        cbn [mbind option_bind]. rewrite L1, E. simpl. split; [auto|congruence].
  Qed.

  (* What is held in registers may be overwritten: it is among the stale cells. *)
  Lemma store_registers_spec todo total a0 : forall registers a w front stale,
    w = zlength front -> array a 0 (front ++ stale ++ todo) -> (length (concat registers) <= length stale)%nat ->
    length (front ++ stale ++ todo) = total -> unchanged_outside 0 (Z.of_nat total) a0 a ->
    exists a' stale', store_registers pack xmin a w registers = Some (w + zlength (kept xmin (concat registers)), a') /\
      array a' 0 ((front ++ kept xmin (concat registers)) ++ stale' ++ todo) /\
      length (stale' ++ kept xmin (concat registers)) = length stale /\ unchanged_outside 0 (Z.of_nat total) a0 a'.
  Proof.
    induction registers as [|register registers IH]; intros a w front stale W A L T U; simpl concat in *.
    - exists a, stale. unfold kept. simpl. rewrite !app_nil_r, Z.add_0_r. auto.
    - rewrite app_length in L. destruct (Packs register) as (others & P & LP).
      destruct (cut_at stale (length (pack register))) as (old & stale2 & -> & L1 & L2); [lia|].
      rewrite <- app_assoc in A. destruct (write_in_array a 0 front old (pack register) _ A L1) as (a1 & E & A1 & U1).
      rewrite Z.add_0_l, <- W in E, U1. cbn [store_registers]. rewrite E. cbn [mbind option_bind].
      rewrite kept_app. rewrite P in A1, U1, LP. rewrite !app_length in *.
      destruct (IH a1 (w + zlength (kept xmin register)) (front ++ kept xmin register) (others ++ stale2))
        as (a' & stale' & E' & A' & L' & U').
      + rewrite app_length. lia.
      + rewrite <- !app_assoc in *. exact A1.
      + rewrite !app_length. rewrite P, app_length in *. lia.
      + rewrite !app_length. rewrite P, app_length in *. lia.
      + intros k K. rewrite U1, U; auto. rewrite P, app_length in *. lia.
      + exists a', stale'. rewrite E', !app_length, <- !app_assoc in *. rewrite P, app_length in *.
        split; [f_equal; f_equal; lia|]. split; [auto|]. split; [lia|auto].
  Qed.

  Lemma all_kept data : forallb (keeps xmin) data = true -> kept xmin data = data.
  Proof.
    induction data as [|x data IH]; [auto|]. intros F. apply andb_prop in F. destruct F as [X F]. unfold kept in *.
    cbn [List.filter]. rewrite X, IH; auto.
  Qed.

  Lemma none_kept data : forallb (fun x => negb (keeps xmin x)) data = true -> kept xmin data = [].
  Proof.
    induction data as [|x data IH]; [auto|]. intros F. apply andb_prop in F. destruct F as [X F]. unfold kept in *.
    cbn [List.filter]. apply negb_true_iff in X. rewrite X. auto.
  Qed.

  (* What is not stored was there already, or is not needed. *)
  Lemma idle_spec a done stale data todo : idle xmin (zlength done) (zlength (kept xmin done)) data = true ->
    length (kept xmin done ++ stale) = length done -> array a 0 (kept xmin done ++ (stale ++ data) ++ todo) ->
    exists stale', array a 0 ((kept xmin done ++ kept xmin data) ++ stale' ++ todo) /\
      length (stale' ++ kept xmin data) = length (stale ++ data).
  Proof.
    intros I L A. unfold idle in I. apply orb_prop in I. destruct I as [I|I].
    - apply andb_prop in I. destruct I as [R I]. apply Z.eqb_eq in R. rewrite (all_kept data) by auto.
      rewrite app_length in L. destruct stale as [|x stale]; [|cbn [length] in L; lia].
      exists []. rewrite <- app_assoc. auto.
    - rewrite (none_kept data) by auto. exists (stale ++ data). rewrite !app_nil_r. auto.
  Qed.

  (** For any schedule that covers the array, the purge by whole registers keeps exactly the XIDs that do not precede
    xmin, in order, in the same array. It loads and stores nothing outside the array. *)
  Theorem purge_registers_is_filter : forall l schedule a, array a 0 l ->
    list_sum (map list_sum (map snd schedule)) = length l ->
    exists a', purge_registers pack xmin schedule 0 0 a = Some (zlength (kept xmin l), a') /\
      array a' 0 (kept xmin l) /\ unchanged_outside 0 (zlength l) a a'.
  Proof.
    intros l schedule a0 A0 Sum.
    assert (G : forall schedule done stale todo r w a, r = zlength done -> w = zlength (kept xmin done) ->
      length (kept xmin done ++ stale) = length done -> array a 0 (kept xmin done ++ stale ++ todo) ->
      length (done ++ todo) = length l -> list_sum (map list_sum (map snd schedule)) = length todo ->
      unchanged_outside 0 (zlength l) a0 a ->
      exists a', purge_registers pack xmin schedule r w a = Some (zlength (kept xmin (done ++ todo)), a') /\
        array a' 0 (kept xmin (done ++ todo)) /\ unchanged_outside 0 (zlength l) a0 a').
    { clear schedule Sum. induction schedule as [|[look widths] schedule IH];
        intros done stale todo r w a R W LS A LT Sum U; simpl in Sum.
      - destruct todo; [|discriminate]. rewrite app_nil_r. exists a. subst w. apply array_app in A.
        cbn [purge_registers]. tauto.
      - destruct (cut_at todo (list_sum widths)) as (data & todo' & -> & L1 & L2); [lia|]. cbn [purge_registers].
        rewrite app_assoc in A.
        destruct (load_registers_spec a (kept xmin done ++ stale) todo' r widths data) as (registers & E & C); auto.
        { rewrite LS. auto. }
        rewrite E. cbn [mbind option_bind]. rewrite app_length in *.
        assert (S : exists a' stale', (if look && idle xmin r w (concat registers)
            then Some (w + zlength (kept xmin (concat registers)), a) else store_registers pack xmin a w registers) =
            Some (w + zlength (kept xmin data), a') /\
          array a' 0 ((kept xmin done ++ kept xmin data) ++ stale' ++ todo') /\
          length (stale' ++ kept xmin data) = length (stale ++ data) /\ unchanged_outside 0 (zlength l) a0 a').
        { rewrite C. destruct (look && idle xmin r w data) eqn:I.
          - apply andb_prop in I. destruct I as [_ I]. subst r w.
            destruct (idle_spec a done stale data todo' I) as (stale' & A' & L').
            { rewrite app_length. lia. }
            { rewrite <- !app_assoc in *. exact A. }
            exists a, stale'. auto.
          - destruct (store_registers_spec todo' (length l) a0 registers a w (kept xmin done) (stale ++ data))
              as (a' & stale' & E' & A' & L' & U'); auto.
            { rewrite <- !app_assoc in *. exact A. }
            { rewrite C, app_length. lia. }
            { rewrite !app_length in *. lia. }
            rewrite C in *. exists a', stale'. auto. }
        destruct S as (a' & stale' & E' & A' & L' & U').
        rewrite E'. cbn [mbind option_bind].
        destruct (IH (done ++ data) stale' todo' (r + Z.of_nat (list_sum widths)) (w + zlength (kept xmin data)) a')
          as (a2 & E2 & A2 & U2); auto.
        { rewrite app_length. lia. }
        { rewrite kept_app, app_length. lia. }
        { rewrite kept_app, !app_length in *. lia. }
        { rewrite kept_app. exact A'. }
        { rewrite !app_length in *. lia. }
        { lia. }
        exists a2. rewrite <- app_assoc in *. auto. }
    destruct (G schedule [] [] l 0 0 a0) as (a' & H); eauto using unchanged_refl.
  Qed.
End registers.

Lemma compress_zeros_packs xmin : packs xmin (compress_zeros xmin).
Proof.
  intros register. eexists. split; [reflexivity|]. unfold compress_zeros. rewrite app_length, repeat_length.
  pose proof (kept_length xmin register). lia.
Qed.

Lemma list_sum_repeat widths k : list_sum (map list_sum (repeat widths k)) = (k * list_sum widths)%nat.
Proof. induction k as [|k IH]; simpl; [auto|]. lia. Qed.

Lemma schedule_covers lanes n rest : (0 < lanes)%nat -> (forall k, list_sum (map list_sum (rest k)) = k) ->
  list_sum (map list_sum (schedule_of lanes n rest)) = n.
Proof.
  intros L R. unfold schedule_of. rewrite !map_app, !list_sum_app, !list_sum_repeat, R. simpl list_sum.
  pose proof (Nat.div_mod n (4 * lanes) ltac:(lia)).
  pose proof (Nat.div_mod (n mod (4 * lanes))%nat lanes ltac:(lia)). nia.
Qed.

(** The schedules of the AVX2 and the AVX-512 purge are right for arrays of any length, whichever groups are tested
    first, and for AVX2 whatever its permutation puts into the lanes past the survivors. *)
Theorem avx_schedules_are_filters : forall l xmin a schedule, array a 0 l ->
  (map snd schedule = avx2_schedule (length l) -> forall pack, packs xmin pack -> exists a',
    purge_registers pack xmin schedule 0 0 a = Some (zlength (kept xmin l), a') /\
    array a' 0 (kept xmin l) /\ unchanged_outside 0 (zlength l) a a') /\
  (map snd schedule = avx512_schedule (length l) -> exists a',
    purge_registers (compress_zeros xmin) xmin schedule 0 0 a = Some (zlength (kept xmin l), a') /\
    array a' 0 (kept xmin l) /\ unchanged_outside 0 (zlength l) a a').
Proof.
  intros l xmin a schedule A. split; [intros S pack P|intros S]; apply purge_registers_is_filter;
    auto using compress_zeros_packs; rewrite S; apply schedule_covers; try lia; intros k; simpl; [|lia].
  rewrite list_sum_repeat. simpl. lia.
Qed.
