(* The paper's empirical min-max objective for tables, its profile over zeta, and the risk in
   coordinates: corrected.md, Notation and Theorem 1. *)
Require Import Reals Lra Lia Psatz FunctionalExtensionality vectors two_time_scales softmax.
Open Scope R_scope.

(* --- statements *)

(* States are 0, 1, ..., those with observations first; actions are 0, 1, ... *)
Record data := {
  states : nat;  (* with observations *)
  actions : nat;
  all_states : nat;  (* those that only follow another are counted too *)
  count : nat -> nat -> nat -> R;  (* n(x, a, y): action a in state x, followed by state y *)
  anchor : nat -> nat;  (* the action a_x *)
  reward : vector;  (* r(x, a_x) *)
  beta : R
}.

Section Risk.
Variable D : data.
Local Notation X := (states D).
Local Notation K := (actions D).
Local Notation Y := (all_states D).
Local Notation V := (value K).

(* N observations, n(x, a), n(x); the mean over observations (x, a, y) *)
Definition taken (x a : nat) := sum Y (count D x a).
Definition visits (x : nat) := sum K (taken x).
Definition observations := sum X visits.
Definition mean (t : nat -> nat -> nat -> R) :=
  sum X (fun x => sum K (fun a => sum Y (fun y => count D x a y * t x a y))) / observations.

(* w_x, b_x, pi-hat, and P, the frequencies of the anchor's moves *)
Definition w (x : nat) := visits x / observations.
Definition b (x : nat) := taken x (anchor D x) / observations.
Definition frequency (x a : nat) := taken x a / visits x.
Definition P (x y : nat) := count D x (anchor D x) y / taken x (anchor D x).

(* P V_Q, and the residual e *)
Definition PV (q : vector) : vector := ahead X K P q.
Definition residual (q : vector) (x : nat) :=
  reward D x + beta D * PV q x - q (pair K x (anchor D x)).

(* The objective of the min-max problem: for each observation -log p_Q(a | x) and, if a is the
   anchor, the squared TD error less beta^2 (V_Q(y) - zeta(x))^2. *)
Definition f (q zeta : vector) := mean (fun x a y =>
  - ln (choice K q x a) + one a (anchor D x) *
    ((reward D x + beta D * V q y - q (pair K x a)) ^ 2 - beta D ^ 2 * (V q y - zeta x) ^ 2)).

(* Its profile: the mean of -log p_Q(a | x) and, if a is the anchor, e^2. *)
Definition g (q : vector) := mean (fun x a y =>
  - ln (choice K q x a) + one a (anchor D x) * residual q x ^ 2).

(* Counts are counts, the anchor is an action, and (S): states with observations have anchor
   observations, and are closed under the anchor's moves. (F): each action was taken in each. *)
Definition counts := (forall x a y, 0 <= count D x a y) /\ (0 < X)%nat /\ (X <= Y)%nat /\
  (forall x, (x < X)%nat -> (anchor D x < K)%nat) /\ 0 <= beta D < 1.
Definition condition_S := forall x, (x < X)%nat -> 0 < taken x (anchor D x) /\
  forall y, (X <= y)%nat -> (y < Y)%nat -> count D x (anchor D x) y = 0.
Definition condition_F := forall x a, (x < X)%nat -> (a < K)%nat -> 0 < taken x a.

(* H(pi-hat), weighted by w, and KL(pi-hat_x || p_x) *)
Definition entropy :=
  sum X (fun x => w x * sum K (fun a => - (frequency x a * ln (frequency x a)))).
Definition kl (q : vector) (x : nat) :=
  sum K (fun a => frequency x a * (ln (frequency x a) - ln (choice K q x a))).

Definition off (q zeta : vector) := less zeta (PV q).
Definition profile := forall q zeta,
  f q zeta = g q - beta D ^ 2 * dot X b (off q zeta) (off q zeta) /\
  f q zeta <= g q /\ f q (PV q) = g q.
Definition coordinates := forall q, (forall x, (x < X)%nat -> 0 <= kl q x) /\
  g q = entropy + sum X (fun x => w x * kl q x) + sum X (fun x => b x * residual q x ^ 2).
End Risk.

Definition profile_over_zeta := forall D, counts D -> condition_S D -> profile D.
Definition risk_in_coordinates := forall D, counts D -> condition_S D -> coordinates D.

(* --- counts *)
Section Proof.
Variable D : data.
Local Notation X := (states D).
Local Notation K := (actions D).
Local Notation Y := (all_states D).
Local Notation V := (value K).
Hypothesis C : counts D.
Hypothesis S : condition_S D.

Lemma taken_pos : forall x a, 0 <= taken D x a.
Proof. intros. apply sum_pos. intros. apply C. Qed.

Lemma anchor_in : forall x, (x < X)%nat -> (anchor D x < K)%nat.
Proof. apply C. Qed.

Lemma actions_pos : (0 < K)%nat.
Proof. destruct C as [_ [H [_ [A _]]]]. pose proof (A O H). lia. Qed.

Lemma visits_nonneg : forall x, 0 <= visits D x.
Proof. intros. apply sum_pos. intros. apply taken_pos. Qed.

Lemma visits_pos : forall x, (x < X)%nat -> 0 < visits D x.
Proof.
  intros x Hx. destruct (S x Hx) as [H _]. eapply Rlt_le_trans; [exact H |].
  apply (sum_term K (taken D x)); [intros; apply taken_pos | apply anchor_in; auto].
Qed.

Lemma observations_pos : 0 < observations D.
Proof.
  destruct C as [_ [H _]]. eapply Rlt_le_trans; [apply (visits_pos O H) |].
  apply (sum_term X (visits D)); [intros; apply visits_nonneg | auto].
Qed.

Lemma w_pos : forall x, (x < X)%nat -> 0 < w D x.
Proof.
  intros. apply Rdiv_lt_0_compat; [apply visits_pos; auto | apply observations_pos].
Qed.

Lemma w_nonneg : forall x, 0 <= w D x.
Proof.
  intros. unfold w, Rdiv. pose proof observations_pos.
  apply Rmult_le_pos; [apply visits_nonneg | left; apply Rinv_0_lt_compat; auto].
Qed.

Lemma b_nonneg : forall x, 0 <= b D x.
Proof.
  intros. unfold b, Rdiv. pose proof observations_pos.
  apply Rmult_le_pos; [apply taken_pos | left; apply Rinv_0_lt_compat; auto].
Qed.

Lemma b_pos : forall x, (x < X)%nat -> 0 < b D x.
Proof. intros. apply Rdiv_lt_0_compat; [apply S; auto | apply observations_pos]. Qed.

Lemma frequency_nonneg : forall x a, (x < X)%nat -> 0 <= frequency D x a.
Proof.
  intros x a Hx. unfold frequency, Rdiv. pose proof (visits_pos x Hx).
  apply Rmult_le_pos; [apply taken_pos | left; apply Rinv_0_lt_compat; auto].
Qed.

Lemma frequency_sum : forall x, (x < X)%nat -> sum K (frequency D x) = 1.
Proof.
  intros x Hx. pose proof (visits_pos x Hx). unfold frequency.
  rewrite (sum_ext K _ (fun a => / visits D x * taken D x a)) by (intros; unfold Rdiv; ring).
  rewrite sum_scal. fold (visits D x). field. lra.
Qed.

Lemma P_nonneg : forall x y, (x < X)%nat -> 0 <= P D x y.
Proof.
  intros x y Hx. destruct (S x Hx) as [H _]. unfold P, Rdiv.
  apply Rmult_le_pos; [apply C | left; apply Rinv_0_lt_compat; auto].
Qed.

(* what is seen after an anchor observation is a state with observations *)
Lemma anchor_moves : forall x t, (x < X)%nat ->
  sum Y (fun y => count D x (anchor D x) y * t y) =
  taken D x (anchor D x) * sum X (fun y => P D x y * t y).
Proof.
  intros x t Hx. destruct (S x Hx) as [H Z]. rewrite (sum_tail Y X); [| apply C |].
  - rewrite <- sum_scal. apply sum_ext. intros. unfold P. field. lra.
  - intros y H1 H2. rewrite Z by auto. ring.
Qed.

Lemma P_sum : forall x, (x < X)%nat -> sum X (P D x) = 1.
Proof.
  intros x Hx. pose proof (anchor_moves x (fun _ => 1) Hx) as E. destruct (S x Hx) as [H _].
  rewrite (sum_ext Y _ (count D x (anchor D x))) in E by (intros; ring).
  rewrite (sum_ext X _ (P D x)) in E by (intros; ring).
  fold (taken D x (anchor D x)) in E. apply Rmult_eq_reg_l with (taken D x (anchor D x)); lra.
Qed.

(* --- the mean over observations, state by state: choices, and what follows the anchor *)
Lemma mean_splits : forall c t,
  mean D (fun x a y => c x a + one a (anchor D x) * t x a y) =
  sum X (fun x => w D x * sum K (fun a => frequency D x a * c x a)) +
  sum X (fun x => b D x * sum X (fun y => P D x y * t x (anchor D x) y)).
Proof.
  intros c t. pose proof observations_pos as N. unfold mean, Rdiv.
  rewrite Rmult_comm, <- sum_scal, <- sum_plus. apply sum_ext. intros x Hx.
  pose proof (visits_pos x Hx) as Vx. pose proof (anchor_in x Hx) as A.
  assert (E : sum K (fun a => sum Y (fun y =>
      count D x a y * (c x a + one a (anchor D x) * t x a y))) =
    sum K (fun a => taken D x a * c x a) +
    sum K (fun a => one a (anchor D x) * sum Y (fun y => count D x a y * t x a y))).
  { rewrite <- sum_plus. apply sum_ext. intros a Ha. unfold taken.
    rewrite (Rmult_comm (sum Y (count D x a))), <- !sum_scal, <- sum_plus.
    apply sum_ext. intros. ring. }
  rewrite E, (sum_one K (anchor D x) _ A), anchor_moves by auto. unfold w, b.
  rewrite (sum_ext K (fun a => frequency D x a * c x a)
    (fun a => / visits D x * (taken D x a * c x a))) by (intros; unfold frequency; field; lra).
  rewrite sum_scal. field. lra.
Qed.

Definition nll (q : vector) := sum X (fun x => w D x * sum K (fun a =>
  frequency D x a * - ln (choice K q x a))).

Lemma g_is : forall q, g D q = nll q + sum X (fun x => b D x * residual D q x ^ 2).
Proof.
  intros q. unfold g. rewrite (mean_splits (fun x a => - ln (choice K q x a))
    (fun x _ _ => residual D q x ^ 2)). f_equal. apply sum_ext. intros x Hx.
  rewrite (sum_ext X _ (fun y => residual D q x ^ 2 * P D x y)) by (intros; ring).
  rewrite sum_scal, P_sum by auto. ring.
Qed.

(* the variance of V(y) enters the two squares with opposite signs *)
Lemma f_is : forall q zeta, f D q zeta = nll q + sum X (fun x =>
  b D x * (residual D q x ^ 2 - beta D ^ 2 * (zeta x - PV D q x) ^ 2)).
Proof.
  intros q zeta. unfold f. rewrite (mean_splits (fun x a => - ln (choice K q x a)) (fun x a y =>
    (reward D x + beta D * V q y - q (pair K x a)) ^ 2 - beta D ^ 2 * (V q y - zeta x) ^ 2)).
  f_equal. apply sum_ext. intros x Hx. f_equal. cbv beta.
  set (d := reward D x - q (pair K x (anchor D x))).
  rewrite (sum_ext X _ (fun y => (d ^ 2 - beta D ^ 2 * zeta x ^ 2) * P D x y +
    (2 * d * beta D + 2 * beta D ^ 2 * zeta x) * (P D x y * V q y))) by (intros; unfold d; ring).
  rewrite sum_plus, !sum_scal, P_sum by auto. unfold residual, PV, ahead, d. ring.
Qed.

Lemma dot_square : forall m c x, dot m c x x = sum m (fun i => c i * x i ^ 2).
Proof. intros. rewrite dot_sum. apply sum_ext. intros. ring. Qed.

Lemma profile_holds : profile D.
Proof.
  assert (E : forall q zeta,
    f D q zeta = g D q - beta D ^ 2 * dot X (b D) (off D q zeta) (off D q zeta)).
  { intros q zeta. rewrite f_is, g_is, dot_square. unfold off, less.
    rewrite (sum_ext X (fun x => b D x * (_ - _)) (fun x => b D x * residual D q x ^ 2 +
      - beta D ^ 2 * (b D x * (zeta x - PV D q x) ^ 2))) by (intros; ring).
    rewrite sum_plus, sum_scal. ring. }
  intros q zeta. split; [apply E |]. split.
  - rewrite E. pose proof (dot_pos X (b D) (off D q zeta) b_nonneg).
    pose proof (pow2_ge_0 (beta D)). nra.
  - rewrite E. rewrite dot_square, (sum_ext X _ (fun _ => 0)), sum_const; [ring |].
    intros. unfold off, less. ring.
Qed.

Lemma kl_nonneg : forall q x, (x < X)%nat -> 0 <= kl D q x.
Proof.
  intros q x Hx. apply gibbs_inequality; [apply actions_pos | | apply frequency_sum; auto].
  intros. apply frequency_nonneg. auto.
Qed.

Lemma coordinates_hold : coordinates D.
Proof.
  intros q. split; [intros; apply kl_nonneg; auto |]. rewrite g_is. unfold nll, entropy.
  f_equal. rewrite <- sum_plus. apply sum_ext. intros x Hx.
  rewrite <- Rmult_plus_distr_l. unfold kl. rewrite <- sum_plus. f_equal.
  apply sum_ext. intros. ring.
Qed.
End Proof.

Theorem profile_over_zeta_holds : profile_over_zeta.
Proof. intros D C S. apply profile_holds; auto. Qed.

Theorem risk_in_coordinates_holds : risk_in_coordinates.
Proof. intros D C S. apply coordinates_hold; auto. Qed.

Print Assumptions profile_over_zeta_holds.
Print Assumptions risk_in_coordinates_holds.
