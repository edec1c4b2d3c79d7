(* Theorem 9 of corrected.md, V in closed form, and Theorem 10, the error of the minimiser. *)
Require Import Reals Lra Lia Psatz FunctionalExtensionality.
Require Import vectors two_time_scales softmax risk gradient pl smoothness least alpha.
Open Scope R_scope.

(* --- statements *)

(* Add -2 (p - pi-hat) to the logits of every state, and set e = 0 by one solve: there is such a
   table, and each KL falls by its factor. *)
Definition theorem_9 := forall D alpha q, counts D -> condition_S D -> factor D alpha ->
  exists q', (forall x, (x < states D)%nat -> residual D q' x = 0) /\
  (forall x, (x < states D)%nat -> exists c, forall k, (k < actions D)%nat ->
    ln (choice (actions D) q' x k) = ln (choice (actions D) q x k) -
      2 * (choice (actions D) q x k - frequency D x k) + c) /\
  forall x, (x < states D)%nat -> kl D q' x <= (1 - 2 * alpha x (kl D q x)) * kl D q x.

(* The truth: lstar = log pi-star, the anchor's transition Pstar, V with (I - beta Pstar) V =
   r_a - lstar_a, and Q-star = V + lstar. The minimiser q has the frequencies and no residual. Its error
   is dl less d in each state, where only d solves (I - beta P) d = dl_a - beta (P - Pstar) V. *)
Definition theorem_10 := forall D lstar Pstar Vstar q, counts D -> condition_S D ->
  let X := states D in let K := actions D in
  (forall x, (x < X)%nat -> Vstar x - beta D * sum X (fun y => Pstar x y * Vstar y) =
    reward D x - lstar x (anchor D x)) ->
  has_coordinates D q (fun x k => ln (frequency D x k)) (fun _ => 0) ->
  let dl := fun x k => ln (frequency D x k) - lstar x k in
  let solved := fun d : vector => forall x, (x < X)%nat ->
    d x - beta D * sum X (fun y => P D x y * d y) =
    dl x (anchor D x) - beta D * sum X (fun y => (P D x y - Pstar x y) * Vstar y) in
  exists d, solved d /\
  (forall d', solved d' -> forall x, (x < X)%nat -> d' x = d x) /\
  forall x k, (x < X)%nat -> (k < K)%nat ->
    q (pair K x k) - (Vstar x + lstar x k) = dl x k - d x.

(* --- Theorem 9 *)
Section Step.
Variable D : data.
Local Notation K := (actions D).
Hypothesis C : counts D.
Hypothesis S : condition_S D.
Variables (x : nat) (q : vector).
Hypothesis Hx : (x < states D)%nat.

Let p (k : nat) := choice K q x k.
Let pi (k : nat) := frequency D x k.
Let N := sum K (fun k => (p k - pi k) ^ 2).

Lemma kl_curve : forall v v' s, curve v s v' ->
  derivable_pt_lim (fun s => kl D (v s) x) s
    (average D (v s) v' x - sum K (fun k => pi k * v' (pair K x k))).
Proof.
  intros v v' s H. pose proof (actions_pos D C) as HK.
  assert (T : average D (v s) v' x - sum K (fun k => pi k * v' (pair K x k)) =
    sum K (fun k => pi k * (0 - (v' (pair K x k) - average D (v s) v' x)))).
  { rewrite (sum_ext K (fun k => pi k * (0 - _)) (fun k => average D (v s) v' x * pi k +
      -1 * (pi k * v' (pair K x k)))) by (intros; ring).
    rewrite sum_plus, !sum_scal. unfold pi. rewrite frequency_sum by auto. ring. }
  rewrite T. unfold kl.
  apply (sum_derivative K (fun s k => pi k * (ln (frequency D x k) - ln (choice K (v s) x k)))).
  intros k. apply scaled_derivative.
  apply (derivable_pt_lim_minus (fun _ => ln (frequency D x k)) (fun s => ln (choice K (v s) x k)));
    [apply derivable_pt_lim_const |].
  assert (F : (fun s => ln (choice K (v s) x k)) = (fun s => v s (pair K x k) - value K (v s) x))
    by (apply functional_extensionality; intros; apply log_choice; auto).
  rewrite F. apply derivable_pt_lim_minus; [apply H | apply value_curve; auto].
Qed.

Lemma one_step_of_kl : forall d, (forall k, (k < K)%nat -> d (pair K x k) = - 2 * (p k - pi k)) ->
  kl D (along q d 1) x <= kl D q x - N.
Proof.
  intros d Hd. set (v := along q d). set (A := fun t => average D (v t) d x).
  set (a0 := sum K (fun k => pi k * d (pair K x k))).
  assert (Sq : square D d x = 4 * N).
  { unfold square, N. rewrite <- sum_scal. apply sum_ext. intros k Hk. rewrite Hd by auto. ring. }
  assert (F0 : A 0 - a0 = - 2 * N).
  { unfold A, v, a0, average, N. rewrite along_0, <- sum_scal.
    rewrite (sum_ext K (fun i => -2 * (p i - pi i) ^ 2) (fun k => choice K q x k * d (pair K x k) +
      -1 * (pi k * d (pair K x k)))) by (intros k Hk; rewrite Hd by auto; unfold p; ring).
    rewrite sum_plus, sum_scal. ring. }
  assert (Cov : forall t, covariance D (v t) d d x <= 2 * N).
  { intros t. pose proof (covariance_below D C (v t) d d x) as B.
    pose proof (Rle_abs (covariance D (v t) d d x)).
    rewrite sqrt_sqrt in B by apply square_pos. rewrite Sq in B. lra. }
  assert (DA : forall t, derivable_pt_lim A t (covariance D (v t) d d x))
    by (intros t; apply (average_curve D C v d t d x (line q d t))).
  assert (Up : forall t, 0 <= t -> A t - a0 <= - 2 * N + 2 * N * t).
  { intros t Ht.
    pose proof (increasing (fun t => (0 + 2 * N * t) + -1 * A t)
      (fun t => 2 * N + -1 * covariance D (v t) d d x) 0 t) as H.
    assert (I : 0 + 2 * N * 0 + -1 * A 0 <= 0 + 2 * N * t + -1 * A t).
    { apply H; auto.
      - intros u _. apply derivable_pt_lim_plus; [apply affine | apply scaled_derivative; apply DA].
      - intros u _. pose proof (Cov u). lra. }
    lra. }
  pose proof (increasing (fun t => (0 + - (2 * N) * t) + (N * t ^ 2 + -1 * kl D (v t) x))
    (fun t => - (2 * N) + (N * (2 * t * 1) + -1 * (A t - a0))) 0 1) as H.
  assert (I : 0 + - (2 * N) * 0 + (N * 0 ^ 2 + -1 * kl D (v 0) x) <=
    0 + - (2 * N) * 1 + (N * 1 ^ 2 + -1 * kl D (v 1) x)).
  { apply H; [| | lra].
    - intros u _. apply derivable_pt_lim_plus; [apply affine |].
      apply derivable_pt_lim_plus; apply scaled_derivative.
      + apply (square_derivative id). apply derivable_pt_lim_id.
      + apply (kl_curve v d u (line q d u)).
    - intros u Hu. pose proof (Up u Hu). lra. }
  unfold v in *. rewrite along_0 in I. lra.
Qed.
End Step.

Theorem theorem_9_holds : theorem_9.
Proof.
  intros D alpha q C S A. pose proof (actions_pos D C) as HK.
  set (d := table (actions D) (fun x k => - 2 * (choice (actions D) q x k - frequency D x k))).
  set (q1 := along q d 1). set (l := fun x k => ln (choice (actions D) q1 x k)).
  assert (Hl : log_choices D l).
  { intros x Hx. rewrite <- (choice_sum (actions D) q1 x HK). apply sum_ext. intros k Hk.
    apply exp_ln. apply choice_pos. auto. }
  destruct (bijection_of_tables_holds D l (fun _ => 0) C S Hl) as [V [_ [_ [H _]]]].
  set (q' := table _ _) in H. exists q'. split; [intros x Hx; apply H; auto |]. split.
  - intros x Hx. exists (value (actions D) q x - value (actions D) q1 x). intros k Hk.
    destruct (H x Hx) as [_ L]. rewrite L by auto. unfold l. rewrite !log_choice by auto.
    unfold q1, along, d. rewrite table_pair by auto. ring.
  - intros x Hx.
    assert (E : kl D q' x = kl D q1 x).
    { unfold kl. apply sum_ext. intros k Hk. destruct (H x Hx) as [_ L]. rewrite L by auto. auto. }
    rewrite E.
    pose proof (one_step_of_kl D C S x q Hx d) as O. fold q1 in O.
    assert (Hd : forall k, (k < actions D)%nat -> d (pair (actions D) x k) =
      - 2 * (choice (actions D) q x k - frequency D x k))
      by (intros; unfold d; rewrite table_pair; auto).
    specialize (O Hd).
    destruct (A x (kl D q x) Hx (kl_nonneg D C S q x Hx)) as [_ F].
    specialize (F q (Rle_refl _)). lra.
Qed.

Theorem theorem_10_holds : theorem_10.
Proof.
  intros D lstar Pstar Vstar q C S X K HV Hq dl solved. pose proof (actions_pos D C) as HK.
  set (V := value K q). exists (fun x => Vstar x - V x).
  assert (Sol : solved (fun x => Vstar x - V x)).
  { intros x Hx. destruct (Hq x Hx) as [E L]. specialize (L (anchor D x) (anchor_in D C x Hx)).
    rewrite log_choice in L by auto. unfold residual, PV, ahead in E. fold K X V in E, L.
    pose proof (HV x Hx) as Hs. unfold dl.
    rewrite (sum_ext X _ (fun y => P D x y * Vstar y + -1 * (P D x y * V y))) by (intros; ring).
    rewrite (sum_ext X (fun y => (P D x y - Pstar x y) * Vstar y)
      (fun y => P D x y * Vstar y + -1 * (Pstar x y * Vstar y))) by (intros; ring).
    rewrite !sum_plus, !sum_scal. rewrite !Rmult_plus_distr_l. fold (V x) in L. lra. }
  split; [exact Sol |]. split.
  - intros d' H' x Hx.
    change (d' x = (fun x => Vstar x - V x) x).
    apply (fixed_point_unique X (P D) (beta D) (fun x => dl x (anchor D x) -
      beta D * sum X (fun y => (P D x y - Pstar x y) * Vstar y))); auto.
    + intros. apply P_nonneg; auto.
    + apply P_sum; auto.
    + apply C.
    + intros y Hy. pose proof (H' y Hy). unfold apply_once. lra.
    + intros y Hy. pose proof (Sol y Hy). unfold apply_once. lra.
  - intros x k Hx Hk. destruct (Hq x Hx) as [_ L]. specialize (L k Hk).
    rewrite log_choice in L by auto. fold K in L. unfold dl, V. lra.
Qed.

Print Assumptions theorem_9_holds.
Print Assumptions theorem_10_holds.
