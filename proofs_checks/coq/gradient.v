(* The gradients of the profile g and of the objective f of the paper, as corrected.md has them: the
   gradient in q is G' y, where y is the gradient in the coordinates (h, e) of Theorem 1. *)
Require Import Reals Lra Lia Psatz FunctionalExtensionality vectors two_time_scales softmax risk.
Open Scope R_scope.

(* --- statements *)

(* A function of states and actions as a vector over pairs. *)
Definition table (K : nat) (t : nat -> nat -> R) : vector := fun i => t (i / K)%nat (i mod K)%nat.

Section Gradient.
Variable D : data.
Local Notation X := (states D).
Local Notation K := (actions D).

(* G' y at the choices of q. The first part of y is given as u = U y_h, whose sum in each state is
   zero: h are the logits in an orthonormal basis U of such vectors. The second is eps, over e. *)
Definition pull (q : vector) (u : nat -> nat -> R) (eps : vector) (x k : nat) :=
  u x k + beta D * sum X (fun j => eps j * P D j x) * choice K q x k -
  one k (anchor D x) * eps x.

(* y: the slopes of g in the logits and in e; of f in e, at zeta *)
Definition slope_h (q : vector) (x k : nat) := w D x * (choice K q x k - frequency D x k).
Definition slope_e (q : vector) (x : nat) := 2 * b D x * residual D q x.
Definition slope_g (q : vector) := pull q (slope_h q) (slope_e q).
Definition slope_f (q zeta : vector) (x k : nat) := slope_g q x k +
  2 * beta D ^ 2 * sum X (fun j => b D j * (zeta j - PV D q j) * P D j x) * choice K q x k.

(* The metric of visits, M, and gradients in it. *)
Definition metric : vector := table K (fun x _ => w D x).
Definition gradient_g (q : vector) : vector := table K (fun x k => slope_g q x k / w D x).
Definition gradient_f (q zeta : vector) : vector :=
  table K (fun x k => slope_f q zeta x k / w D x).

(* Along any differentiable curve of tables. *)
Definition slopes := forall u u' s, curve u s u' ->
  derivable_pt_lim (fun s => g D (u s)) s
    (sum X (fun x => sum K (fun k => slope_g (u s) x k * u' (pair K x k)))) /\
  forall zeta, derivable_pt_lim (fun s => f D (u s) zeta) s
    (sum X (fun x => sum K (fun k => slope_f (u s) zeta x k * u' (pair K x k)))).
End Gradient.

Definition the_slopes := forall D, counts D -> condition_S D -> slopes D.
(* In the metric of visits, as two_time_scales.v has them. *)
Definition the_gradients := forall D, counts D -> condition_S D ->
  weights (metric D) (b D) /\
  gradient_of_g (states D * actions D) (metric D) (g D) (gradient_g D) /\
  gradient_of_f (states D * actions D) (states D) (metric D) (b D) (beta D) (g D) (PV D)
    (gradient_f D).

(* --- tables *)
Lemma table_pair : forall K t x k, (k < K)%nat -> table K t (pair K x k) = t x k.
Proof.
  intros K t x k H. unfold table, pair. rewrite Nat.div_add_l by lia.
  rewrite Nat.div_small, Nat.add_0_r by lia. f_equal.
  rewrite Nat.add_comm, Nat.mod_add, Nat.mod_small; lia.
Qed.

Lemma dot_pairs : forall X K m p r,
  dot (X * K) m p r = sum X (fun x => sum K (fun k =>
    m (pair K x k) * p (pair K x k) * r (pair K x k))).
Proof. intros. rewrite dot_sum. apply sum_pairs. Qed.

Lemma sum2_ext : forall X K s t, (forall x k, (x < X)%nat -> (k < K)%nat -> s x k = t x k) ->
  sum X (fun x => sum K (s x)) = sum X (fun x => sum K (t x)).
Proof. intros. apply sum_ext. intros. apply sum_ext. auto. Qed.

Lemma sum2_plus : forall X K s t,
  sum X (fun x => sum K (fun k => s x k + t x k)) =
  sum X (fun x => sum K (s x)) + sum X (fun x => sum K (t x)).
Proof. intros. rewrite <- sum_plus. apply sum_ext. intros. apply sum_plus. Qed.

Lemma sum2_scal : forall X K c s,
  sum X (fun x => sum K (fun k => c * s x k)) = c * sum X (fun x => sum K (s x)).
Proof. intros. rewrite <- sum_scal. apply sum_ext. intros. apply sum_scal. Qed.

(* --- proofs *)
Section Proof.
Variable D : data.
Local Notation X := (states D).
Local Notation K := (actions D).
Hypothesis C : counts D.
Hypothesis S : condition_S D.

(* the slope of P V_q, transposed *)
Lemma slope_transposed : forall q p c,
  sum X (fun j => c j * slope X K (P D) q p j) =
  sum X (fun x => sum K (fun k => sum X (fun j => c j * P D j x) * choice K q x k *
    p (pair K x k))).
Proof.
  intros q p c. unfold slope.
  rewrite (sum_ext X _ (fun j => sum X (fun x => c j * P D j x *
    sum K (fun k => choice K q x k * p (pair K x k))))).
  - rewrite sum_swap. apply sum_ext. intros x _.
    set (mean := sum K (fun k => choice K q x k * p (pair K x k))).
    rewrite (sum_ext K _ (fun k => sum X (fun j => c j * P D j x) *
      (choice K q x k * p (pair K x k)))) by (intros; ring).
    rewrite sum_scal. fold mean. rewrite (Rmult_comm _ mean), <- (sum_scal X mean). apply sum_ext. intros. ring.
  - intros j _. rewrite <- sum_scal. apply sum_ext. intros. ring.
Qed.

(* e moves by this along p *)
Definition move_of_e (q p : vector) (j : nat) :=
  beta D * slope X K (P D) q p j - p (pair K j (anchor D j)).

Lemma pull_adjoint : forall q u eps p,
  sum X (fun x => sum K (fun k => pull D q u eps x k * p (pair K x k))) =
  sum X (fun x => sum K (fun k => u x k * p (pair K x k))) +
  sum X (fun j => eps j * move_of_e q p j).
Proof.
  intros q u eps p. unfold move_of_e.
  rewrite (sum_ext X (fun j => eps j * _) (fun j => beta D * (eps j * slope X K (P D) q p j) +
    -1 * (eps j * p (pair K j (anchor D j))))) by (intros; ring).
  rewrite sum_plus, !sum_scal, slope_transposed.
  rewrite (sum_ext X (fun j => eps j * p (pair K j (anchor D j)))
    (fun x => sum K (fun k => one k (anchor D x) * (eps x * p (pair K x k)))))
    by (intros; rewrite sum_one; [auto | apply anchor_in; auto]).
  rewrite <- !sum2_scal, <- !sum2_plus. apply sum2_ext. intros. unfold pull. ring.
Qed.

Lemma residual_curve : forall u u' s j, curve u s u' ->
  derivable_pt_lim (fun s => residual D (u s) j) s (move_of_e (u s) u' j).
Proof.
  intros u u' s j H. unfold residual, move_of_e.
  apply derivable_pt_lim_minus; [| apply H].
  rewrite <- (Rplus_0_l (beta D * _)).
  apply derivable_pt_lim_plus; [apply derivable_pt_lim_const |].
  apply scaled_derivative. apply ahead_curve; [apply actions_pos; auto | auto].
Qed.

Lemma nll_curve : forall u u' s, curve u s u' ->
  derivable_pt_lim (fun s => nll D (u s)) s
    (sum X (fun x => sum K (fun k => slope_h D (u s) x k * u' (pair K x k)))).
Proof.
  intros u u' s H. pose proof (actions_pos D C) as HK. unfold nll, slope_h.
  assert (E : forall x, (x < X)%nat ->
    sum K (fun k => w D x * (choice K (u s) x k - frequency D x k) * u' (pair K x k)) =
    w D x * sum K (fun k => frequency D x k *
      (sum K (fun l => choice K (u s) x l * u' (pair K x l)) - u' (pair K x k)))).
  { intros x Hx. rewrite <- sum_scal. set (t := sum K (fun l => choice K (u s) x l * _)).
    rewrite (sum_ext K (fun k => w D x * (frequency D x k * _)) (fun k =>
      w D x * t * frequency D x k + - w D x * (frequency D x k * u' (pair K x k))))
      by (intros; ring).
    rewrite sum_plus, !sum_scal, frequency_sum by auto.
    rewrite (sum_ext K _ (fun k => w D x * (choice K (u s) x k * u' (pair K x k)) +
      - w D x * (frequency D x k * u' (pair K x k)))) by (intros; ring).
    rewrite sum_plus, !sum_scal. fold t. ring. }
  rewrite (sum_ext X _ _ E).
  apply (sum_derivative X (fun s x => w D x * _)). intros x. apply scaled_derivative.
  apply (sum_derivative K (fun s k => frequency D x k * _)). intros k. apply scaled_derivative.
  assert (F : (fun s => - ln (choice K (u s) x k)) =
    (fun s => value K (u s) x - u s (pair K x k))).
  { apply functional_extensionality. intros t. rewrite log_choice by auto. ring. }
  rewrite F. apply derivable_pt_lim_minus; [apply value_curve; auto | apply H].
Qed.

Lemma g_curve : forall u u' s, curve u s u' ->
  derivable_pt_lim (fun s => g D (u s)) s
    (sum X (fun x => sum K (fun k => slope_g D (u s) x k * u' (pair K x k)))).
Proof.
  intros u u' s H. unfold slope_g. rewrite pull_adjoint.
  assert (E : (fun s => g D (u s)) =
    (fun s => nll D (u s) + sum X (fun x => b D x * residual D (u s) x ^ 2))).
  { apply functional_extensionality. intros t. apply g_is; auto. }
  rewrite E. apply derivable_pt_lim_plus; [apply nll_curve; auto |].
  apply (sum_derivative X (fun s x => b D x * residual D (u s) x ^ 2)). intros x. unfold slope_e.
  replace (2 * b D x * residual D (u s) x * move_of_e (u s) u' x)
    with (b D x * (2 * residual D (u s) x * move_of_e (u s) u' x)) by ring.
  apply scaled_derivative. apply square_derivative. apply residual_curve. auto.
Qed.

Lemma f_curve : forall u u' s zeta, curve u s u' ->
  derivable_pt_lim (fun s => f D (u s) zeta) s
    (sum X (fun x => sum K (fun k => slope_f D (u s) zeta x k * u' (pair K x k)))).
Proof.
  intros u u' s zeta H.
  assert (E : (fun s => f D (u s) zeta) = (fun s => g D (u s) +
    sum X (fun x => - beta D ^ 2 * b D x * (zeta x - PV D (u s) x) ^ 2))).
  { apply functional_extensionality. intros t. destruct (profile_holds D C S (u t) zeta) as [F _].
    rewrite F, dot_square.
    rewrite (sum_ext X (fun x => - _ * _ * _) (fun x =>
      - beta D ^ 2 * (b D x * off D (u t) zeta x ^ 2))) by (intros; unfold off, less; ring).
    rewrite sum_scal. ring. }
  rewrite E.
  assert (G : sum X (fun x => sum K (fun k => slope_f D (u s) zeta x k * u' (pair K x k))) =
    sum X (fun x => sum K (fun k => slope_g D (u s) x k * u' (pair K x k))) +
    sum X (fun j => - beta D ^ 2 * b D j *
      (2 * (zeta j - PV D (u s) j) * (0 - slope X K (P D) (u s) u' j)))).
  { rewrite (sum_ext X (fun j => - beta D ^ 2 * b D j * _) (fun j => 2 * beta D ^ 2 *
      (b D j * (zeta j - PV D (u s) j) * slope X K (P D) (u s) u' j))) by (intros; ring).
    rewrite sum_scal, slope_transposed, <- sum2_scal, <- sum2_plus. apply sum2_ext. intros.
    unfold slope_f. ring. }
  rewrite G. apply derivable_pt_lim_plus; [apply g_curve; auto |].
  apply (sum_derivative X (fun s x => - beta D ^ 2 * b D x * (zeta x - PV D (u s) x) ^ 2)).
  intros x. apply scaled_derivative.
  apply (square_derivative (fun s => zeta x - PV D (u s) x)).
  apply (derivable_pt_lim_minus (fun _ => zeta x) (fun s => PV D (u s) x));
    [apply derivable_pt_lim_const |].
  apply (ahead_curve X K (P D) u u' x s); [apply actions_pos; auto | auto].
Qed.

Lemma metric_nonneg : forall i, 0 <= metric D i.
Proof. intros. unfold metric, table. apply w_nonneg; auto. Qed.

(* a vector divided by the metric, against p in the metric *)
Lemma dot_metric : forall t p,
  dot (X * K) (metric D) (table K (fun x k => t x k / w D x)) p =
  sum X (fun x => sum K (fun k => t x k * p (pair K x k))).
Proof.
  intros t p. rewrite dot_pairs. apply sum2_ext. intros x k Hx Hk. unfold metric.
  rewrite !table_pair by auto. pose proof (w_pos D C S x Hx). field. lra.
Qed.
End Proof.

Theorem the_slopes_hold : the_slopes.
Proof. intros D C S u u' s H. split; intros; [apply g_curve | apply f_curve]; auto. Qed.

Theorem the_gradients_hold : the_gradients.
Proof.
  intros D C S. split; [| split].
  - split; intros; [apply metric_nonneg | apply b_nonneg]; auto.
  - intros q p s. unfold gradient_g. rewrite dot_metric by auto.
    apply (g_curve D C S (along q p)). apply line.
  - intros q z p. unfold gradient_f. rewrite dot_metric by auto.
    assert (E : (fun s => objective (states D) (b D) (beta D) (g D) (PV D) (along q p s) z) =
      (fun s => f D (along q p s) z)).
    { apply functional_extensionality. intros s.
      destruct (profile_holds D C S (along q p s) z) as [F _]. rewrite F. reflexivity. }
    rewrite E. pose proof (f_curve D C S (along q p) p 0 z (line q p 0)) as F.
    rewrite along_0 in F. exact F.
Qed.

Print Assumptions the_slopes_hold.
Print Assumptions the_gradients_hold.
