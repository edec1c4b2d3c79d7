(* A contraction of the first n entries, in the largest absolute value, has one fixed point. *)
Require Import Reals Lra Lia Psatz vectors.
Open Scope R_scope.

(* --- statement *)
Definition near (n : nat) (V U : vector) (M : R) := forall x, (x < n)%nat -> Rabs (V x - U x) <= M.
Definition contracts (n : nat) (T : vector -> vector) (beta : R) :=
  0 <= beta < 1 /\ forall V U M, near n V U M -> near n (T V) (T U) (beta * M).
Definition fixed (n : nat) (T : vector -> vector) (V : vector) := forall x, (x < n)%nat -> V x = T V x.

Definition one_fixed_point := forall n T beta, contracts n T beta ->
  (exists V, fixed n T V) /\
  forall V U, fixed n T V -> fixed n T U -> forall x, (x < n)%nat -> V x = U x.

(* --- proof *)
Section Proof.
Variables (n : nat) (T : vector -> vector) (beta : R).
Hypothesis Hb : 0 <= beta < 1.
Hypothesis HT : forall V U M, near n V U M -> near n (T V) (T U) (beta * M).

Lemma near_sum : forall V U, near n V U (sum n (fun x => Rabs (V x - U x))).
Proof.
  intros V U x Hx. apply (sum_term n (fun x => Rabs (V x - U x)));
    [intros; apply Rabs_pos | auto].
Qed.

Lemma powers_vanish : forall M eps, 0 < eps -> exists t, forall s, (t <= s)%nat -> beta ^ s * M < eps.
Proof.
  intros M eps He. pose proof (Rabs_pos M) as Hm.
  destruct (pow_lt_1_zero beta ltac:(rewrite Rabs_pos_eq; lra) (eps / (Rabs M + 1))) as [t H].
  { apply Rdiv_lt_0_compat; lra. }
  exists t. intros s Hs. specialize (H s Hs). rewrite Rabs_pos_eq in H by (apply pow_le; lra).
  assert (E : eps / (Rabs M + 1) * (Rabs M + 1) = eps) by (field; lra).
  pose proof (Rle_abs M). pose proof (pow_le beta s (proj1 Hb)). nra.
Qed.

Lemma unique : forall V U, fixed n T V -> fixed n T U -> forall x, (x < n)%nat -> V x = U x.
Proof.
  intros V U HV HU. set (M := sum n (fun x => Rabs (V x - U x))).
  assert (B : forall t, near n V U (beta ^ t * M)).
  { induction t; intros x Hx; simpl.
    - rewrite Rmult_1_l. apply near_sum. auto.
    - rewrite HV, HU, Rmult_assoc by auto. apply HT; auto. }
  intros x Hx. destruct (Req_dec (V x) (U x)) as [| Z]; auto. exfalso.
  assert (P : 0 < Rabs (V x - U x)) by (apply Rabs_pos_lt; lra).
  destruct (powers_vanish M _ P) as [t Ht]. specialize (Ht t (le_n t)).
  pose proof (B t x Hx). lra.
Qed.

Fixpoint iterated (t : nat) : vector := match t with O => fun _ => 0 | S k => T (iterated k) end.

Let M := sum n (fun x => Rabs (iterated 1 x - iterated 0 x)) / (1 - beta).

Lemma M_pos : 0 <= M.
Proof.
  unfold M, Rdiv. apply Rmult_le_pos; [apply sum_pos; intros; apply Rabs_pos |].
  left. apply Rinv_0_lt_compat. lra.
Qed.

Lemma one_more : forall t, near n (iterated (S t)) (iterated t) (beta ^ t * (M * (1 - beta))).
Proof.
  assert (E : M * (1 - beta) = sum n (fun x => Rabs (iterated 1 x - iterated 0 x)))
    by (unfold M; field; lra).
  rewrite E. induction t; [rewrite Rmult_1_l; apply near_sum |].
  intros x Hx. simpl pow. rewrite Rmult_assoc. apply (HT (iterated (S t)) (iterated t)); auto.
Qed.

Lemma far : forall s t, near n (iterated (t + s)) (iterated t) (beta ^ t * M).
Proof.
  intros s t x Hx. pose proof M_pos as M0.
  assert (G : Rabs (iterated (t + s) x - iterated t x) <= beta ^ t * M * (1 - beta ^ s)).
  { induction s.
    - rewrite Nat.add_0_r, Rminus_diag_eq, Rabs_R0 by auto. simpl. lra.
    - replace (iterated (t + S s) x - iterated t x) with
        ((iterated (S (t + s)) x - iterated (t + s) x) + (iterated (t + s) x - iterated t x))
        by (rewrite Nat.add_succ_r; ring).
      eapply Rle_trans; [apply Rabs_triang |].
      eapply Rle_trans; [apply Rplus_le_compat; [apply one_more; auto | exact IHs] |].
      right. rewrite pow_add. simpl. ring. }
  pose proof (pow_le beta s (proj1 Hb)). pose proof (pow_le beta t (proj1 Hb)).
  assert (0 <= beta ^ t * M) by (apply Rmult_le_pos; auto). nra.
Qed.

Lemma converges : forall x, { l | (x < n)%nat -> Un_cv (fun t => iterated t x) l }.
Proof.
  intros x. destruct (lt_dec x n) as [Hx | Hx]; [| exists 0; intros; lia].
  destruct (R_complete (fun t => iterated t x)) as [l Hl]; [| exists l; auto].
  intros eps He. destruct (powers_vanish M eps He) as [t Ht].
  exists t. intros a c Ha Hc. unfold R_dist. destruct (le_lt_dec c a) as [L | L].
  - replace a with (c + (a - c))%nat by lia.
    eapply Rle_lt_trans; [apply far; auto | apply Ht; auto].
  - rewrite Rabs_minus_sym. replace c with (a + (c - a))%nat by lia.
    eapply Rle_lt_trans; [apply far; auto | apply Ht; auto].
Qed.

Definition limit : vector := fun x => proj1_sig (converges x).

Lemma limit_near : forall t, near n limit (iterated t) (beta ^ t * M).
Proof.
  intros t x Hx. pose proof (proj2_sig (converges x) Hx) as L. fold (limit x) in L.
  destruct (Rle_lt_dec (Rabs (limit x - iterated t x)) (beta ^ t * M)) as [| G]; auto. exfalso.
  destruct (L (Rabs (limit x - iterated t x) - beta ^ t * M) ltac:(lra)) as [s Hs].
  specialize (Hs (t + s)%nat ltac:(lia)). unfold R_dist in Hs. pose proof (far s t x Hx) as F.
  pose proof (Rabs_triang (limit x - iterated (t + s) x) (iterated (t + s) x - iterated t x)) as Tr.
  replace (limit x - iterated (t + s) x + (iterated (t + s) x - iterated t x))
    with (limit x - iterated t x) in Tr by ring.
  rewrite Rabs_minus_sym in Hs. lra.
Qed.

Lemma limit_fixed : fixed n T limit.
Proof.
  intros x Hx. destruct (Req_dec (limit x) (T limit x)) as [| Z]; auto. exfalso.
  assert (P : 0 < Rabs (limit x - T limit x) / 2).
  { apply Rdiv_lt_0_compat; [apply Rabs_pos_lt |]; lra. }
  destruct (powers_vanish M _ P) as [t Ht]. specialize (Ht t (le_n t)). pose proof M_pos as M0.
  pose proof (limit_near (S t) x Hx) as A. pose proof (HT _ _ _ (limit_near t) x Hx) as B.
  change (iterated (S t)) with (T (iterated t)) in A.
  pose proof (Rabs_triang (limit x - T (iterated t) x) (T (iterated t) x - T limit x)) as Tr.
  replace (limit x - T (iterated t) x + (T (iterated t) x - T limit x))
    with (limit x - T limit x) in Tr by ring.
  rewrite (Rabs_minus_sym (T (iterated t) x)) in Tr. simpl pow in A.
  pose proof (pow_le beta t (proj1 Hb)). assert (0 <= beta ^ t * M) by (apply Rmult_le_pos; auto).
  nra.
Qed.
End Proof.

Theorem one_fixed_point_holds : one_fixed_point.
Proof.
  intros n T beta [Hb HT]. split.
  - exists (limit n T beta Hb HT). apply limit_fixed.
  - apply (unique n T beta); auto.
Qed.

Print Assumptions one_fixed_point_holds.
