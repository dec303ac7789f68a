(* SPDX-License-Identifier: PostgreSQL *)
(** * Witnesses: the hypotheses can be met, and without a protection a torn page stays torn *)
From Coq Require Import Bool ZArith Arith List Lia Permutation.
From Pgquern.common Require Import Premises Parts.
From Pgquern.tornpage Require Import Checksum ChecksumFacts LoadsFacts Recovery RecoveryFacts Examples.
From Pgquern.tornpage Require Faults Runs Survives RunsFacts VectorsFacts VectorLoadsFacts Mount MountFacts.
Import ListNotations.

Lemma lsn_of_state j : lsn_of (state_of j) = j.
Proof. destruct j; reflexivity. Qed.

(** A page of three sectors and records that change one sector each are a history, whether the first record is an image or not. *)
Theorem three_sectors_are_a_history :
  history first_is_image state_of step_of lsn_of state_of /\ history none_is_image state_of step_of lsn_of state_of.
Proof. split; (split; [exact lsn_of_state|split; reflexivity]). Qed.

(** A crash in the middle of the third write: the header is new, the rest is not. *)
Definition torn_page : three := [3; 1; 11].
Lemma torn_page_is_left : leaves (state_of 0) [state_of 2; state_of 3] torn_page.
Proof.
  split; [reflexivity|]. intros [|[|[|i]]] s E; cbn in E; try (destruct i; discriminate); injection E as <-.
  - right. exists (state_of 3). split; [now right; left|reflexivity].
  - left. reflexivity.
  - right. exists (state_of 2). split; [now left|reflexivity].
Qed.

(** Full page images make it the state after the fourth record. *)
Theorem images_restore_a_torn_page :
  recover first_is_image state_of step_of lsn_of (whole_up_to 4) 5 torn_page = state_of 4.
Proof.
  apply (images_restore first_is_image state_of step_of lsn_of state_of (proj1 three_sectors_are_a_history) (whole_up_to 4) 5 3
           [state_of 2; state_of 3]); [reflexivity|cbn; lia| |exact torn_page_is_left].
  intros w [<-|[<-|[]]]; [exists 2|exists 3]; (split; [lia|reflexivity]).
Qed.

(** So does a double-write area that holds the third state, and one whose copy is torn while the place is not. *)
Theorem double_write_restores_a_torn_page :
  recover_double none_is_image state_of step_of lsn_of is_state (whole_up_to 4) 5 (state_of 3) torn_page = state_of 4 /\
  recover_double none_is_image state_of step_of lsn_of is_state (whole_up_to 4) 5 torn_page (state_of 0) = state_of 4.
Proof. split; reflexivity. Qed.

(** Without a protection the torn page is taken for the third state: recovery ends with a page that no record ever left. *)
Theorem without_protection_a_mixture_stays :
  leaves (state_of 0) [state_of 2; state_of 3] torn_page /\
  forall j, recover none_is_image state_of step_of lsn_of (whole_up_to 4) 5 torn_page <> state_of j.
Proof.
  split; [exact torn_page_is_left|]. intros j E. assert (J := f_equal lsn_of E). rewrite lsn_of_state in J.
  vm_compute in J. subst j. vm_compute in E. discriminate.
Qed.

(** A sync of the log fails, and recovery finds the record in the kernel's cache; the next sync works, and the power fails. *)
Definition kept_of_two : Faults.contents nat nat :=
  Faults.Contents (fun n => if n =? 1 then Some (Faults.Record 1 (Faults.Image [1; 7; 0]))
    else if n =? 2 then Some (Faults.Record 2 (Faults.Image [2; 8; 7])) else None) [1; 7; 0] None (Faults.Control 1 2).
Definition life_of_faults : list (Faults.event nat nat) :=
  [Faults.Change 7; Faults.Flush; Faults.Go; Faults.Fail; Faults.Recover] ++ works 30 ++ [Faults.Change 8; Faults.Flush] ++ works 3 ++
  [Faults.PowerLoss kept_of_two; Faults.Recover] ++ works 30.

(** The hypotheses of the theorems on faults can be met, by a life that ends with an open store and two changes that are
    promised, of which the first was in the kernel's cache alone when recovery read it. *)
Theorem a_life_of_faults_is_allowed :
  (forall n d p, lsn_of (newer n d p) = n) /\ lsn_of blank = 0 /\
  Faults.all_allowed Faults.Images room_of_log lsn_of newer (Faults.new blank) life_of_faults /\
  let w := lives Faults.Images (Faults.new blank) life_of_faults in
  Faults.program w = Some [] /\ Faults.acked (Faults.now w) = 2 /\ Faults.mem (Faults.proc (Faults.now w)) = [2; 8; 7].
Proof.
  split; [reflexivity|]. split; [reflexivity|]. split; [|repeat split; vm_compute; reflexivity].
  vm_compute. repeat (split; [exact I|]). split; [|repeat (split; [exact I|]); exact I].
  split; [intros [|[|[|n]]]; left; now left|]. split; [|split; [left; now left|now left]].
  split; [exists [1; 7; 0]; split; [now left|reflexivity]|]. intros i s E. exists [1; 7; 0]. split; [now left|exact E].
Qed.

(** ** The mount: pages of two sectors, of which the first one changes *)
Definition two_sectors (_ : nat) : list nat := [0; 0].
Definition one_batch : Mount.batch nat := [(0, [1; 1])].
Definition first_page (p : list nat) (k : nat) : list nat := match k with 0 => p | _ => [0; 0] end.
Definition mounted (rewrites replaces : bool) : list (Mount.event nat) -> Mount.mount nat :=
  Mount.run nat rewrites replaces (Mount.new nat two_sectors).
Lemma two_halves (a b : nat) m : In [a; a] m -> In [b; b] m -> Faults.sector_by_sector m [a; b].
Proof.
  intros A B. split; [now exists [a; a]|]. intros [|[|i]] x E; cbn in E; try (destruct i; discriminate); injection E as <-;
    [now exists [a; a]|now exists [b; b]].
Qed.
Lemma one_page (p : list nat) m : In p m -> Faults.sector_by_sector m p.
Proof. intros I. split; [now exists p|]. intros i x E. now exists p. Qed.
Definition mount_works (n : nat) : list (Mount.event nat) := repeat (Mount.Go nat) n.

Definition life_of_a_mount : list (Mount.event nat) :=
  [Mount.Write nat 0 [7; 7]; Mount.WriteBack nat [0]] ++ mount_works 7 ++ [Mount.Fsynced nat 0 1; Mount.Write nat 0 [1; 1]; Mount.WriteBack nat [0]] ++
  mount_works 3 ++ [Mount.PowerLoss nat (Some one_batch) (first_page [1; 7]); Mount.Start nat] ++ mount_works 7.
(** The power fails while a page is half in place, after an fsync has covered an older version of it; recovery ends with the page of the area. *)
Theorem a_life_of_a_mount_is_allowed :
  Mount.all_allowed nat true true (Mount.new nat two_sectors) life_of_a_mount /\
  let m := mounted true true life_of_a_mount in
  Mount.state nat m = Mount.Emptied nat /\ Mount.promised nat m 0 = 1 /\ Faults.seen (Mount.place nat m 0) = [1; 1].
Proof.
  split; [|split; [vm_compute; reflexivity|split; vm_compute; reflexivity]]. repeat (split; [exact I|]). split; [|repeat (split; [exact I|]); exact I].
  split; [left; vm_compute; now left|]. intros [|k]; [apply two_halves|apply one_page]; vm_compute; auto.
Qed.

Definition life_of_trust : list (Mount.event nat) :=
  [Mount.Write nat 0 [1; 1]; Mount.WriteBack nat [0]] ++ mount_works 1 ++ [Mount.Kill nat; Mount.Start nat] ++ mount_works 1 ++
  [Mount.PowerLoss nat None (first_page [1; 0]); Mount.Start nat] ++ mount_works 1.
(** A recovery tears a page if it does not write the area again before it relies on it: the program is killed before it has synced its area, and the
    power fails while recovery writes in place. *)
Theorem an_area_that_is_trusted_tears :
  Mount.all_allowed nat false true (Mount.new nat two_sectors) life_of_trust /\
  let m := mounted false true life_of_trust in
  Mount.state nat m = Mount.Emptied nat /\ ~ In (Faults.seen (Mount.place nat m 0)) (Mount.versions nat m 0).
Proof.
  split; [|split; [vm_compute; reflexivity|vm_compute; intros [E|[E|[]]]; discriminate]].
  repeat (split; [exact I|]). split; [|repeat (split; [exact I|]); exact I].
  split; [left; vm_compute; right; now left|]. intros [|k]; [apply two_halves|apply one_page]; vm_compute; auto.
Qed.

Definition life_of_a_sync : list (Mount.event nat) :=
  [Mount.Write nat 0 [1; 1]; Mount.WriteBack nat [0]] ++ mount_works 4 ++ [Mount.Fail nat; Mount.WriteBack nat []] ++ mount_works 2 ++
  [Mount.Write nat 1 [2; 2]; Mount.WriteBack nat [1]] ++ mount_works 2 ++
  [Mount.PowerLoss nat (Some [(1, [2; 2])]) (first_page [1; 0]); Mount.Start nat] ++ mount_works 7.
(** A sync that failed says nothing when it is called again: if the page is not written again before, and its copy in the area is overwritten, a power
    loss tears it. *)
Theorem a_sync_alone_again_tears :
  Mount.all_allowed nat true false (Mount.new nat two_sectors) life_of_a_sync /\
  let m := mounted true false life_of_a_sync in
  Mount.state nat m = Mount.Emptied nat /\ ~ In (Faults.seen (Mount.place nat m 0)) (Mount.versions nat m 0).
Proof.
  split; [|split; [vm_compute; reflexivity|vm_compute; intros [E|[E|[]]]; discriminate]].
  repeat (split; [exact I|]). split; [|repeat (split; [exact I|]); exact I].
  split; [left; vm_compute; now left|]. intros [|k]; [apply two_halves|apply one_page]; vm_compute; auto.
Qed.

(** Rows of four words meet the hypotheses of the checksum's theorems, in an order of columns that is not the plain one. *)
Theorem four_columns_have_a_checksum :
  Forall is_word four_bases /\ Forall (fun row => length row = length four_bases) three_rows /\
  Permutation [2; 0; 3; 1] (seq 0 (length four_bases)) /\
  kernel next_split [2; 0; 3; 1] four_bases three_rows 7 = checksum four_bases three_rows 7.
Proof.
  split; [repeat constructor; cbn; unfold WORD; lia|]. split; [repeat constructor|]. split.
  - cbn. apply perm_trans with [0; 2; 3; 1]; [constructor|]. constructor. apply perm_trans with [2; 1; 3].
    + constructor. constructor.
    + apply perm_trans with [1; 2; 3]; [constructor|reflexivity].
  - vm_compute. reflexivity.
Qed.

(** ** The premises of each theorem, met together *)

Lemma kernel_is_checksum_witness : premises_of kernel_is_checksum.
Proof.
  exists four_bases, three_rows, 7%Z, [2; 0; 3; 1]. split; [discriminate|]. split; apply four_columns_have_a_checksum.
Qed.
Lemma split_kernel_is_checksum_witness : premises_of split_kernel_is_checksum.
Proof. exact kernel_is_checksum_witness. Qed.
Lemma plain_kernels_are_pg_checksum_page_witness : premises_of plain_kernels_are_pg_checksum_page.
Proof. exists 7, (firstn 256 all_differ), 7%Z. reflexivity. Qed.
Lemma vector_kernels_are_pg_checksum_page_witness :
  premises_of VectorLoadsFacts.vector_kernels_are_pg_checksum_page.
Proof. exists 1, 7, (firstn 448 all_differ), 7%Z. reflexivity. Qed.
Lemma sums_are_words_witness : inner_premises_of sums_are_words.
Proof.
  exists four_bases, three_rows. split; [apply four_columns_have_a_checksum|].
  split; [repeat constructor; cbn; unfold WORD; discriminate || reflexivity|]. eexists. vm_compute. now left.
Qed.
Lemma durable_records_are_found_witness : premises_of durable_records_are_found.
Proof. exists (whole_up_to 4), 3, 1, 5. split; [lia|]. intros j J. apply Nat.leb_le. lia. Qed.
Lemma an_image_heals_anything_witness : premises_of (@an_image_heals_anything).
Proof.
  exists nat, first_is_image, state_of, step_of, lsn_of, state_of. split; [apply three_sectors_are_a_history|].
  exists (whole_up_to 4), 5, torn_page. split; [reflexivity|]. cbn. lia.
Qed.

Lemma two_are_written k : 3 <= k ->
  forall w, In w [state_of 2; state_of 3] -> exists j, j <= k /\ w = state_of j.
Proof. intros K w [<-|[<-|[]]]; [exists 2|exists 3]; (split; [lia|reflexivity]). Qed.

Lemma images_restore_witness : premises_of (@images_restore).
Proof.
  exists nat, first_is_image, state_of, step_of, lsn_of, state_of. split; [apply three_sectors_are_a_history|].
  exists (whole_up_to 4), 5, 3, [state_of 2; state_of 3], torn_page. split; [reflexivity|]. split; [cbn; lia|].
  split; [now apply two_are_written|exact torn_page_is_left].
Qed.

(* The copy in the area is torn: its middle sector is old. *)
Lemma torn_copy_is_left : leaves (state_of 0) [state_of 2] [2; 1; 11].
Proof.
  split; [reflexivity|]. intros [|[|[|i]]] s E; cbn in E; try (destruct i; discriminate); injection E as <-; cbn; eauto 6.
Qed.

(* Of all mixtures of these two states, the states alone have the right CRC. *)
Lemma crc_tells_mixtures p : leaves (state_of 0) [state_of 2] p -> is_state p = true -> p = state_of 0 \/ p = state_of 2.
Proof.
  intros [L S] R. destruct p as [|a [|b [|c [|d p]]]]; try discriminate.
  assert (A := S 0 a eq_refl). assert (B := S 1 b eq_refl). assert (C := S 2 c eq_refl).
  destruct A as [A|(? & [<-|[]] & A)], B as [B|(? & [<-|[]] & B)], C as [C|(? & [<-|[]] & C)];
    injection A as <-; injection B as <-; injection C as <-; auto; discriminate.
Qed.

Lemma double_write_restores_in_the_area_witness : premises_of (@double_write_restores_in_the_area).
Proof.
  exists nat, none_is_image, state_of, step_of, lsn_of, state_of. split; [apply three_sectors_are_a_history|].
  exists (whole_up_to 4), 5, is_state, 0, 2, (state_of 0), [2; 1; 11]. split; [cbn; lia|]. split; [cbn; lia|].
  split; [reflexivity|]. split; [exact crc_tells_mixtures|exact torn_copy_is_left].
Qed.
Lemma double_write_restores_in_place_witness : premises_of (@double_write_restores_in_place).
Proof.
  exists nat, none_is_image, state_of, step_of, lsn_of, state_of. split; [apply three_sectors_are_a_history|].
  exists (whole_up_to 4), 5, is_state, 3, torn_page. split; [cbn; lia|reflexivity].
Qed.
Lemma atomic_writes_restore_witness : premises_of (@atomic_writes_restore).
Proof.
  exists nat, none_is_image, state_of, step_of, lsn_of, state_of. split; [apply three_sectors_are_a_history|].
  exists (whole_up_to 4), 5, 0, [state_of 2; state_of 3], (state_of 3). split; [cbn; lia|].
  split; [apply two_are_written; cbn; lia|]. right. right. now left.
Qed.

Lemma an_open_store_is_up_to_date_witness : premises_of (@Survives.an_open_store_is_up_to_date).
Proof.
  destruct a_life_of_faults_is_allowed as (L & B & A & _). exists nat, nat, Faults.Images, room_of_log, lsn_of, newer, blank.
  split; [exact L|]. split; [exact B|]. exists life_of_faults. split; [exact A|]. vm_compute. reflexivity.
Qed.
Lemma what_was_promised_survives_witness : premises_of (@Survives.what_was_promised_survives).
Proof.
  destruct a_life_of_faults_is_allowed as (L & B & A & _). exists nat, nat, Faults.Images, room_of_log, lsn_of, newer, blank.
  split; [exact L|]. split; [exact B|]. exists life_of_faults. split; [exact A|]. vm_compute. discriminate.
Qed.
Lemma promises_stay_witness : premises_of (@Survives.promises_stay).
Proof.
  destruct a_life_of_faults_is_allowed as (L & B & A & _). exists nat, nat, Faults.Images, room_of_log, lsn_of, newer, blank.
  split; [exact L|]. split; [exact B|]. exists (firstn 40 life_of_faults), (skipn 40 life_of_faults). rewrite firstn_skipn. exact A.
Qed.
Lemma a_recovery_that_ends_has_what_the_log_has_witness : premises_of (@RunsFacts.a_recovery_that_ends_has_what_the_log_has).
Proof.
  destruct a_life_of_faults_is_allowed as (L & B & _). exists nat, nat, Faults.Images, room_of_log, lsn_of, newer, blank.
  split; [exact L|]. split; [exact B|]. exists [Faults.Change 7; Faults.Flush; Faults.Go; Faults.Fail]. split; [|reflexivity].
  vm_compute. repeat split.
Qed.

(** The power fails while the page is written, and again in recovery: the page is torn both times. *)
Definition told_of_a_life : list (Runs.input nat nat) :=
  let after l p := Runs.LosesPower (Runs.Observed (Faults.Control 0 1) l p None) in
  let first := Faults.Image [1; 7; 0] in
  let go n := repeat (Runs.Happens Faults.Go) n in
  [Runs.Happens (Faults.Change 7); Runs.Happens Faults.Flush] ++ go 3 ++
  [Runs.Happens (Faults.Change 8); Runs.Happens Faults.WriteBack] ++ go 4 ++
  [after [first; Faults.Delta 8] [2; 0; 7]; Runs.Happens Faults.Recover] ++ go 6 ++
  [after [first; Faults.Delta 8] [2; 0; 7]; Runs.Happens Faults.Recover] ++ go 30.
Definition told_by_nats : option world :=
  Runs.told Nat.eq_dec Nat.eq_dec Faults.Images room_of_log lsn_of newer (Faults.new blank) told_of_a_life.

(** The checks let pass what a power loss may leave, and nothing else: a life in which the page is torn before each of two
    recoveries; without the page's record, which a flush has promised, the same is refused. *)
Theorem a_life_is_told :
  (exists w, told_by_nats = Some w /\ Faults.program w = Some [] /\ Faults.mem (Faults.proc (Faults.now w)) = [2; 8; 7]) /\
  Runs.told Nat.eq_dec Nat.eq_dec Faults.Images room_of_log lsn_of newer (Faults.new blank)
    (firstn 5 told_of_a_life ++ [Runs.LosesPower (Runs.Observed (Faults.Control 0 1) [] blank None)]) = None.
Proof.
  split; [|vm_compute; reflexivity].
  assert (H : match told_by_nats with Some w => (Faults.program w, Faults.mem (Faults.proc (Faults.now w))) | None => (None, []) end =
    (Some [], [2; 8; 7])) by (vm_compute; reflexivity).
  destruct told_by_nats as [w|]; [|discriminate]. exists w. split; [reflexivity|]. injection H as -> ->. now split.
Qed.
Lemma what_is_told_is_a_run_witness : premises_of (@RunsFacts.what_is_told_is_a_run).
Proof.
  destruct a_life_of_faults_is_allowed as (L & B & _). exists nat, nat, Nat.eq_dec, Nat.eq_dec, Faults.Images, room_of_log, lsn_of, newer, blank.
  split; [exact L|]. split; [exact B|]. now exists [], (Faults.new blank).
Qed.
Lemma pd_checksum_does_not_count_witness : premises_of pd_checksum_does_not_count.
Proof. exists 1%Z, 2%Z, 3%Z, 4%Z, [5%Z], 6%Z. reflexivity. Qed.

(* Words of ones. *)
Lemma all_words x n : is_word x -> Forall is_word (repeat x n).
Proof. intros W. apply Forall_forall. intros y Y. apply repeat_spec in Y. now subst. Qed.
Lemma ones_are_a_word : is_word (2 ^ 32 - 1)%Z.
Proof. split; [discriminate|reflexivity]. Qed.

Lemma avx2_round_is_its_instructions_witness : premises_of VectorsFacts.avx2_round_is_its_instructions.
Proof.
  exists (repeat (2 ^ 32 - 1)%Z 8), (repeat 1%Z 8). split; [reflexivity|]. split; [reflexivity|].
  apply all_words, ones_are_a_word.
Qed.
Lemma avx512_round_is_its_instructions_witness : premises_of VectorsFacts.avx512_round_is_its_instructions.
Proof.
  exists (repeat (2 ^ 32 - 1)%Z 16), (repeat 1%Z 16). split; [reflexivity|]. split; [reflexivity|].
  apply all_words, ones_are_a_word.
Qed.
Lemma neon_round_is_its_instructions_witness : premises_of VectorsFacts.neon_round_is_its_instructions.
Proof.
  exists (repeat (2 ^ 32 - 1)%Z 4), (repeat 1%Z 4). split; [reflexivity|]. split; [reflexivity|].
  apply all_words, ones_are_a_word.
Qed.
Lemma vector_checksums_are_postgresqls_witness : premises_of VectorsFacts.vector_checksums_are_postgresqls.
Proof. exists (repeat (2 ^ 32 - 1)%Z 64), 7%Z, 1. split; [reflexivity|]. apply all_words, ones_are_a_word. Qed.

Lemma a_mount_finds_what_was_synced_witness : premises_of (@MountFacts.a_mount_finds_what_was_synced).
Proof.
  destruct a_life_of_a_mount_is_allowed as (A & _). exists nat, two_sectors, life_of_a_mount, 0. split; [exact A|vm_compute; reflexivity].
Qed.
Lemma a_mount_reads_the_newest_witness : premises_of (@MountFacts.a_mount_reads_the_newest).
Proof. exists nat, two_sectors, [Mount.Write nat 0 [7; 7]], 0. split; [split; exact I|reflexivity]. Qed.
