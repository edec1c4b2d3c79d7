(* The paper's Lemmas 29 and 30, corrected (E21 to E25), in the grouped notation of paper_pl.v. A bound
   along every line of parameters is one of the gradient's length, and of the Hessian's norm. *)
Require Import Reals Lra Lia Psatz FunctionalExtensionality.
Require Import vectors two_time_scales softmax paper_pl.
Open Scope R_scope.

(* --- statements *)

(* The likelihood is a mean over observations, of which the Bellman error's rows are some. *)
Definition mean_weights (Z : sample) := sum (evaluated Z) (nll_weight Z) = 1 /\
  sum (rows Z) (be_weight Z) <= 1 /\ forall j, (j < rows Z)%nat -> 0 <= be_weight Z j.

(* Outputs v of a line theta + s p of parameters, and their derivatives by s: |v'| <= B |p| and
   |v''| <= B_2 |p|^2 are the paper's bounds; here B stands for B |p|, and B_2 for B_2 |p|^2. *)
Definition line_of_outputs (v v' v'' : R -> vector) := forall s, curve v s (v' s) /\ curve v' s (v'' s).
Definition below (Z : sample) (v : vector) (B : R) := forall x k, (x < evaluated Z)%nat ->
  (k < acts Z)%nat -> Rabs (v (pair (acts Z) x k)) <= B.
Definition residuals_below (Z : sample) (q : vector) (M : R) :=
  forall j, (j < rows Z)%nat -> Rabs (psi Z q j) <= M.
(* phi has a first derivative everywhere, and the second derivative d at s *)
Definition twice (phi : R -> R) (s d : R) := exists slope,
  (forall t, derivable_pt_lim phi t (slope t)) /\ derivable_pt_lim slope s d.

(* The mean and the covariance of Lemma 30, under the choices in a state *)
Definition expected (K : nat) (q u : vector) (y : nat) :=
  sum K (fun k => choice K q y k * u (pair K y k)).
Definition variance (K : nat) (q u : vector) (y : nat) :=
  sum K (fun k => choice K q y k * u (pair K y k) ^ 2) - expected K q u y ^ 2.

(* From s = 0 to s = 1, where B |p| bounds the change of outputs: R_emp is Lipschitz. *)
Definition lemma_29 := forall Z (v v' : R -> vector) B M, valid Z -> mean_weights Z ->
  (forall s, curve v s (v' s)) -> 0 <= B -> 0 <= M ->
  (forall s, 0 <= s <= 1 -> below Z (v' s) B /\ residuals_below Z (v s) M) ->
  Rabs (risk_of Z (v 1) - risk_of Z (v 0)) <= (2 + 2 * M * (1 + discount Z)) * B.

(* E22: the mean of the second derivatives, and the variance of the first ones *)
Definition lemma_30_value := forall K v v' v'' s y, (0 < K)%nat -> line_of_outputs v v' v'' ->
  twice (fun s => value K (v s) y) s
    (expected K (v s) (v'' s) y + variance K (v s) (v' s) y).

Definition lemma_30_nll := forall Z v v' v'' B B_2 s, valid Z -> mean_weights Z ->
  line_of_outputs v v' v'' -> below Z (v' s) B -> below Z (v'' s) B_2 ->
  exists d, twice (fun s => nll_of Z (v s)) s d /\ Rabs d <= 2 * B_2 + B ^ 2.

Definition lemma_30_theta := forall Z v v' v'' B B_2 M s, valid Z -> mean_weights Z ->
  line_of_outputs v v' v'' -> below Z (v' s) B -> below Z (v'' s) B_2 -> 0 <= M ->
  residuals_below Z (v s) M ->
  exists d, twice (fun s => risk_of Z (v s)) s d /\
    Rabs d <= 2 * B_2 + B ^ 2 + 2 * (1 + discount Z) ^ 2 * B ^ 2 +
      2 * M * ((1 + discount Z) * B_2 + discount Z * B ^ 2).

(* The gradient in zeta of -beta^2 sum_j omega_j (zeta_j - mean_j)^2, which is all of the objective that
   depends on zeta, and how it changes. *)
Definition lemma_30_zeta := forall n (omega mean zeta zeta' : vector) beta,
  (forall j, (j < n)%nat -> 0 <= omega j <= 1) ->
  let slope := fun z : vector => fun j => 2 * beta ^ 2 * (omega j * (mean j - z j)) in
  (forall p, derivable_pt_lim (fun s =>
    - beta ^ 2 * sum n (fun j => omega j * (along zeta p s j - mean j) ^ 2)) 0
    (sum n (fun j => slope zeta j * p j))) /\
  sum n (fun j => (slope zeta j - slope zeta' j) ^ 2) <=
    (2 * beta ^ 2) ^ 2 * sum n (fun j => (zeta j - zeta' j) ^ 2).

(* --- means *)
Lemma mean_below : forall n c p B, (forall i, (i < n)%nat -> 0 <= c i) ->
  (forall i, (i < n)%nat -> Rabs (p i) <= B) -> Rabs (sum n (fun i => c i * p i)) <= sum n c * B.
Proof.
  intros n c p B Hc Hp. rewrite Rmult_comm, <- sum_scal.
  assert (A : forall m, (m <= n)%nat ->
    Rabs (sum m (fun i => c i * p i)) <= sum m (fun i => B * c i)).
  { induction m; intros Hm; simpl; [rewrite Rabs_R0; lra |].
    eapply Rle_trans; [apply Rabs_triang |]. apply Rplus_le_compat; [apply IHm; lia |].
    rewrite Rabs_mult, (Rabs_pos_eq (c m)), Rmult_comm by (apply Hc; lia).
    apply Rmult_le_compat_r; [apply Hc | apply Hp]; lia. }
  apply A. auto.
Qed.

Lemma product_below : forall x y A B, Rabs x <= A -> Rabs y <= B -> Rabs (x * y) <= A * B.
Proof. intros. rewrite Rabs_mult. apply Rmult_le_compat; auto using Rabs_pos. Qed.

(* --- choices along a line *)
Section Choices.
Variable K : nat.
Hypothesis HK : (0 < K)%nat.

Lemma choices : forall q y i, (i < K)%nat -> 0 <= choice K q y i.
Proof. intros. left. apply choice_pos. auto. Qed.

Lemma variance_is : forall q u y, variance K q u y =
  sum K (fun k => choice K q y k * (u (pair K y k) - expected K q u y) ^ 2).
Proof.
  intros q u y. unfold variance. set (m := expected K q u y).
  rewrite (sum_ext K (fun k => choice K q y k * (_ - m) ^ 2) (fun k =>
    choice K q y k * u (pair K y k) ^ 2 +
    (- 2 * m * (choice K q y k * u (pair K y k)) + m ^ 2 * choice K q y k))) by (intros; ring).
  rewrite !sum_plus, !sum_scal, choice_sum by auto. fold (expected K q u y). fold m. ring.
Qed.

Lemma choice_line : forall v v' s y k, curve v s v' ->
  derivable_pt_lim (fun s => choice K (v s) y k) s
    (choice K (v s) y k * (v' (pair K y k) - expected K (v s) v' y)).
Proof.
  intros v v' s y k H.
  assert (E : forall q, choice K q y k = exp (q (pair K y k) - value K q y)).
  { intros q. rewrite <- log_choice by auto. rewrite exp_ln; [auto | apply choice_pos; auto]. }
  assert (F : (fun s => choice K (v s) y k) =
    (fun s => exp (v s (pair K y k) - value K (v s) y)))
    by (apply functional_extensionality; intros; apply E).
  rewrite F, (E (v s)).
  apply (derivable_pt_lim_comp (fun s => v s (pair K y k) - value K (v s) y) exp);
    [| apply derivable_pt_lim_exp].
  apply derivable_pt_lim_minus; [apply H |]. apply value_curve; auto.
Qed.

Lemma expected_line : forall v v' v'' s y, curve v s (v' s) -> curve v' s v'' ->
  derivable_pt_lim (fun s => expected K (v s) (v' s) y) s
    (expected K (v s) v'' y + variance K (v s) (v' s) y).
Proof.
  intros v v' v'' s y H H'. set (m := expected K (v s) (v' s) y).
  assert (E : expected K (v s) v'' y + variance K (v s) (v' s) y = sum K (fun k =>
    choice K (v s) y k * (v' s (pair K y k) - m) * v' s (pair K y k) +
    choice K (v s) y k * v'' (pair K y k))).
  { unfold variance. fold m. rewrite sum_plus. fold (expected K (v s) v'' y).
    rewrite (sum_ext K (fun k => choice K (v s) y k * _ * _) (fun k =>
      choice K (v s) y k * v' s (pair K y k) ^ 2 +
      - m * (choice K (v s) y k * v' s (pair K y k)))) by (intros; ring).
    rewrite sum_plus, sum_scal. fold (expected K (v s) (v' s) y). fold m. ring. }
  rewrite E. apply (sum_derivative K (fun s k => choice K (v s) y k * v' s (pair K y k))). intros k.
  apply (derivable_pt_lim_mult (fun s => choice K (v s) y k) (fun s => v' s (pair K y k)));
    [apply choice_line; auto | apply H'].
Qed.
End Choices.

Section Proof.
Variable Z : sample.
Local Notation X := (evaluated Z).
Local Notation K := (acts Z).
Local Notation B := (rows Z).
Hypothesis V : valid Z.
Hypothesis W : mean_weights Z.

Lemma K_positive : (0 < K)%nat.
Proof. apply V. Qed.

Lemma beta_positive : 0 <= discount Z.
Proof. apply V. Qed.

Lemma row : forall j, (j < B)%nat -> (row_state Z j < X)%nat /\ (row_action Z j < K)%nat /\
  sum X (row_moves Z j) = 1 /\ forall y, (y < X)%nat -> 0 <= row_moves Z j y.
Proof. intros j Hj. destruct V as [_ [_ [_ [_ [H _]]]]]. destruct (H j Hj) as [? [? [? [? ?]]]]. auto. Qed.

Lemma below_nonneg : forall u b, below Z u b -> 0 <= b.
Proof.
  intros u b H. destruct V as [HX [HK _]]. eapply Rle_trans; [apply Rabs_pos | apply (H O O); auto].
Qed.

Lemma expected_below : forall q p y b, (y < X)%nat -> below Z p b -> Rabs (expected K q p y) <= b.
Proof.
  intros q p y b Hy H. rewrite <- (Rmult_1_l b), <- (choice_sum K q y K_positive).
  apply mean_below; [intros; apply choices; auto using K_positive | auto].
Qed.

Lemma variance_below : forall q u y b, (y < X)%nat -> below Z u b -> Rabs (variance K q u y) <= b ^ 2.
Proof.
  intros q u y b Hy H. rewrite Rabs_pos_eq.
  - unfold variance. pose proof (pow2_ge_0 (expected K q u y)).
    assert (A : sum K (fun k => choice K q y k * u (pair K y k) ^ 2) <= sum K (choice K q y) * b ^ 2).
    { rewrite Rmult_comm, <- sum_scal. apply sum_le. intros k Hk. rewrite (Rmult_comm (b ^ 2)).
      apply Rmult_le_compat_l; [apply choices; auto using K_positive |].
      rewrite <- (pow2_abs (u (pair K y k))).
      apply pow_incr. split; [apply Rabs_pos | apply H; auto]. }
    rewrite choice_sum in A by apply K_positive. lra.
  - rewrite variance_is by apply K_positive. apply sum_pos. intros k Hk.
    apply Rmult_le_pos; [apply choices; auto using K_positive | apply pow2_ge_0].
Qed.

(* --- the likelihood *)
Definition nll_slope_along (q u : vector) := sum X (fun x => nll_weight Z x *
  sum K (fun k => shares Z x k * (expected K q u x - u (pair K x k)))).
Definition nll_bend_along (q u u' : vector) := sum X (fun x => nll_weight Z x * sum K (fun k =>
  shares Z x k * (expected K q u' x + variance K q u x - u' (pair K x k)))).

Lemma nll_line : forall v v' s, curve v s v' ->
  derivable_pt_lim (fun s => nll_of Z (v s)) s (nll_slope_along (v s) v').
Proof.
  intros v v' s H. pose proof K_positive as HK. unfold nll_of, nll_slope_along.
  apply (sum_derivative X (fun s x => nll_weight Z x * _)). intros x. apply scaled_derivative.
  apply (sum_derivative K (fun s k => shares Z x k * _)). intros k. apply scaled_derivative.
  assert (F : (fun s => - ln (choice K (v s) x k)) =
    (fun s => value K (v s) x - v s (pair K x k))).
  { apply functional_extensionality. intros t. rewrite log_choice by auto. ring. }
  rewrite F. apply derivable_pt_lim_minus; [apply value_curve; auto | apply H].
Qed.

Lemma nll_slope_line : forall v v' v'' s, curve v s (v' s) -> curve v' s v'' ->
  derivable_pt_lim (fun s => nll_slope_along (v s) (v' s)) s (nll_bend_along (v s) (v' s) v'').
Proof.
  intros v v' v'' s H H'. unfold nll_slope_along, nll_bend_along.
  apply (sum_derivative X (fun s x => nll_weight Z x * _)). intros x. apply scaled_derivative.
  apply (sum_derivative K (fun s k => shares Z x k * _)). intros k. apply scaled_derivative.
  apply derivable_pt_lim_minus; [apply expected_line; auto using K_positive | apply H'].
Qed.

Lemma nll_mean : forall t b, (forall x k, (x < X)%nat -> (k < K)%nat -> Rabs (t x k) <= b) ->
  Rabs (sum X (fun x => nll_weight Z x * sum K (fun k => shares Z x k * t x k))) <= b.
Proof.
  intros t b H. destruct V as [_ [_ [_ [N _]]]]. destruct W as [W1 _].
  rewrite <- (Rmult_1_l b), <- W1. apply mean_below; [intros; apply N; auto |]. intros x Hx.
  destruct (N x Hx) as [_ [S1 S0]]. rewrite <- (Rmult_1_l b), <- S1. apply mean_below; auto.
Qed.

Lemma nll_slope_below : forall q u b, below Z u b -> Rabs (nll_slope_along q u) <= 2 * b.
Proof.
  intros q u b H. apply nll_mean. intros x k Hx Hk.
  pose proof (expected_below q u x b Hx H). pose proof (H x k Hx Hk).
  pose proof (Rabs_triang (expected K q u x) (- u (pair K x k))) as T.
  rewrite Rabs_Ropp in T. unfold Rminus. lra.
Qed.

Lemma nll_bend_below : forall q u u' b b2, below Z u b -> below Z u' b2 ->
  Rabs (nll_bend_along q u u') <= 2 * b2 + b ^ 2.
Proof.
  intros q u u' b b2 H H'. apply nll_mean. intros x k Hx Hk.
  pose proof (expected_below q u' x b2 Hx H'). pose proof (H' x k Hx Hk).
  pose proof (variance_below q u x b Hx H).
  pose proof (Rabs_triang (expected K q u' x + variance K q u x) (- u' (pair K x k))) as T.
  pose proof (Rabs_triang (expected K q u' x) (variance K q u x)).
  rewrite Rabs_Ropp in T. unfold Rminus. lra.
Qed.

(* --- the residuals *)
Definition psi_slope (q u : vector) (j : nat) := discount Z * sum X (fun y =>
  row_moves Z j y * expected K q u y) - u (pair K (row_state Z j) (row_action Z j)).
Definition psi_bend (q u u' : vector) (j : nat) := discount Z * sum X (fun y => row_moves Z j y *
  (expected K q u' y + variance K q u y)) - u' (pair K (row_state Z j) (row_action Z j)).

Lemma psi_line : forall v v' s j, curve v s v' ->
  derivable_pt_lim (fun s => psi Z (v s) j) s (psi_slope (v s) v' j).
Proof.
  intros v v' s j H. unfold psi, psi_slope.
  apply derivable_pt_lim_minus; [| apply H]. rewrite <- (Rplus_0_l (discount Z * _)).
  apply derivable_pt_lim_plus; [apply derivable_pt_lim_const |]. apply scaled_derivative.
  apply (ahead_curve X K (row_moves Z)); auto using K_positive.
Qed.

Lemma psi_slope_line : forall v v' v'' s j, curve v s (v' s) -> curve v' s v'' ->
  derivable_pt_lim (fun s => psi_slope (v s) (v' s) j) s (psi_bend (v s) (v' s) v'' j).
Proof.
  intros v v' v'' s j H H'. unfold psi_slope, psi_bend.
  apply derivable_pt_lim_minus; [| apply H']. apply scaled_derivative.
  apply (sum_derivative X (fun s y => row_moves Z j y * expected K (v s) (v' s) y)). intros y.
  apply scaled_derivative. apply expected_line; auto using K_positive.
Qed.

Lemma moved_below : forall j t u a b, (j < B)%nat ->
  (forall y, (y < X)%nat -> Rabs (t y) <= a) -> below Z u b ->
  Rabs (discount Z * sum X (fun y => row_moves Z j y * t y) -
    u (pair K (row_state Z j) (row_action Z j))) <= discount Z * a + b.
Proof.
  intros j t u a b Hj H Hu. destruct (row j Hj) as [Hs [Ha [M1 M0]]].
  assert (A : Rabs (sum X (fun y => row_moves Z j y * t y)) <= 1 * a)
    by (rewrite <- M1; apply mean_below; auto).
  pose proof (Hu (row_state Z j) (row_action Z j) Hs Ha) as U. pose proof beta_positive as Hb.
  set (m := sum X (fun y => row_moves Z j y * t y)) in *. unfold Rminus. eapply Rle_trans; [apply Rabs_triang |].
  rewrite Rabs_Ropp, Rabs_mult, (Rabs_pos_eq (discount Z) Hb).
  assert (discount Z * Rabs m <= discount Z * (1 * a)) by (apply Rmult_le_compat_l; auto). lra.
Qed.

Lemma psi_slope_below : forall q u b j, (j < B)%nat -> below Z u b ->
  Rabs (psi_slope q u j) <= (1 + discount Z) * b.
Proof.
  intros q u b j Hj H. unfold psi_slope.
  pose proof (moved_below j (expected K q u) u b b Hj
    (fun y Hy => expected_below q u y b Hy H) H) as A. lra.
Qed.

Lemma psi_bend_below : forall q u u' b b2 j, (j < B)%nat -> below Z u b -> below Z u' b2 ->
  Rabs (psi_bend q u u' j) <= (1 + discount Z) * b2 + discount Z * b ^ 2.
Proof.
  intros q u u' b b2 j Hj H H'. unfold psi_bend.
  assert (T : forall y, (y < X)%nat -> Rabs (expected K q u' y + variance K q u y) <= b2 + b ^ 2).
  { intros y Hy. eapply Rle_trans; [apply Rabs_triang |].
    apply Rplus_le_compat; [apply expected_below | apply variance_below]; auto. }
  pose proof (moved_below j _ u' (b2 + b ^ 2) b2 Hj T H') as A. cbv beta in A. lra.
Qed.

Lemma be_mean : forall t A, 0 <= A -> (forall j, (j < B)%nat -> Rabs (t j) <= A) ->
  Rabs (sum B (fun j => be_weight Z j * t j)) <= A.
Proof.
  intros t A HA H. destruct W as [_ [W1 W0]].
  eapply Rle_trans; [apply (mean_below B (be_weight Z) t A); auto |]. nra.
Qed.

(* --- the risk *)
Definition risk_slope_along (q u : vector) := nll_slope_along q u +
  sum B (fun j => be_weight Z j * (2 * psi Z q j * psi_slope q u j)).
Definition risk_bend_along (q u u' : vector) := nll_bend_along q u u' +
  sum B (fun j => be_weight Z j *
    (2 * (psi_slope q u j * psi_slope q u j + psi Z q j * psi_bend q u u' j))).

Lemma risk_line : forall v v' s, curve v s v' ->
  derivable_pt_lim (fun s => risk_of Z (v s)) s (risk_slope_along (v s) v').
Proof.
  intros v v' s H. unfold risk_of, risk_slope_along, be_of.
  apply derivable_pt_lim_plus; [apply nll_line; auto |].
  apply (sum_derivative B (fun s j => be_weight Z j * psi Z (v s) j ^ 2)). intros j.
  apply scaled_derivative. apply (square_derivative (fun s => psi Z (v s) j)). apply psi_line; auto.
Qed.

Lemma risk_slope_line : forall v v' v'' s, curve v s (v' s) -> curve v' s v'' ->
  derivable_pt_lim (fun s => risk_slope_along (v s) (v' s)) s (risk_bend_along (v s) (v' s) v'').
Proof.
  intros v v' v'' s H H'. unfold risk_slope_along, risk_bend_along.
  apply derivable_pt_lim_plus; [apply nll_slope_line; auto |].
  apply (sum_derivative B (fun s j => be_weight Z j *
    (2 * psi Z (v s) j * psi_slope (v s) (v' s) j))). intros j. apply scaled_derivative.
  assert (E : (fun s => 2 * psi Z (v s) j * psi_slope (v s) (v' s) j) =
    (fun s => 2 * (psi Z (v s) j * psi_slope (v s) (v' s) j)))
    by (apply functional_extensionality; intros; ring).
  rewrite E. apply scaled_derivative.
  apply (derivable_pt_lim_mult (fun s => psi Z (v s) j) (fun s => psi_slope (v s) (v' s) j));
    [apply psi_line | apply psi_slope_line]; auto.
Qed.

Lemma risk_slope_below : forall q u b M, 0 <= M -> below Z u b -> residuals_below Z q M ->
  Rabs (risk_slope_along q u) <= (2 + 2 * M * (1 + discount Z)) * b.
Proof.
  intros q u b M HM H HP. pose proof (below_nonneg u b H). pose proof beta_positive.
  assert (A : Rabs (sum B (fun j => be_weight Z j * (2 * psi Z q j * psi_slope q u j))) <=
    2 * M * ((1 + discount Z) * b)).
  { apply be_mean; [apply Rmult_le_pos; [lra | apply Rmult_le_pos; lra] |]. intros j Hj.
    apply product_below; [| apply psi_slope_below; auto].
    rewrite Rabs_mult, (Rabs_pos_eq 2) by lra. apply Rmult_le_compat_l; [lra | auto]. }
  pose proof (nll_slope_below q u b H). unfold risk_slope_along.
  eapply Rle_trans; [apply Rabs_triang |]. lra.
Qed.

Lemma risk_bend_below : forall q u u' b b2 M, 0 <= M -> below Z u b -> below Z u' b2 ->
  residuals_below Z q M -> Rabs (risk_bend_along q u u') <=
  2 * b2 + b ^ 2 + 2 * (1 + discount Z) ^ 2 * b ^ 2 +
    2 * M * ((1 + discount Z) * b2 + discount Z * b ^ 2).
Proof.
  intros q u u' b b2 M HM H H' HP. pose proof (below_nonneg u b H).
  pose proof (below_nonneg u' b2 H'). pose proof beta_positive as Hb. pose proof (pow2_ge_0 b).
  pose proof (nll_bend_below q u u' b b2 H H') as N. unfold risk_bend_along.
  set (m := (1 + discount Z) * b). set (c := (1 + discount Z) * b2 + discount Z * b ^ 2).
  assert (m0 : 0 <= m) by (apply Rmult_le_pos; lra).
  assert (c0 : 0 <= c) by (apply Rplus_le_le_0_compat; apply Rmult_le_pos; lra).
  assert (A : Rabs (sum B (fun j => be_weight Z j *
    (2 * (psi_slope q u j * psi_slope q u j + psi Z q j * psi_bend q u u' j)))) <=
    2 * (m * m + M * c)).
  { apply be_mean.
    - assert (0 <= m * m) by (apply Rmult_le_pos; auto).
      assert (0 <= M * c) by (apply Rmult_le_pos; auto). lra.
    - intros j Hj. rewrite Rabs_mult, (Rabs_pos_eq 2) by lra. apply Rmult_le_compat_l; [lra |].
      eapply Rle_trans; [apply Rabs_triang |]. apply Rplus_le_compat; apply product_below; auto;
        try (apply psi_slope_below; auto). apply psi_bend_below; auto. }
  eapply Rle_trans; [apply Rabs_triang |].
  replace (2 * (m * m + M * c)) with (2 * (1 + discount Z) ^ 2 * b ^ 2 + 2 * M * c) in A
    by (unfold m; ring). lra.
Qed.
End Proof.

Theorem lemma_29_holds : lemma_29.
Proof.
  intros Z v v' B M V W L HB HM H.
  destruct (MVT_cor2 (fun s => risk_of Z (v s)) (fun s => risk_slope_along Z (v s) (v' s)) 0 1
    ltac:(lra)) as [s [E Hs]]; [intros s _; apply risk_line; auto |].
  rewrite E, Rminus_0_r, Rmult_1_r. destruct (H s ltac:(lra)) as [H1 H2].
  apply risk_slope_below; auto.
Qed.

Theorem lemma_30_value_holds : lemma_30_value.
Proof.
  intros K v v' v'' s y HK L. exists (fun t => expected K (v t) (v' t) y). split.
  - intros t. apply value_curve; [auto | apply L].
  - apply expected_line; auto; apply L.
Qed.

Theorem lemma_30_nll_holds : lemma_30_nll.
Proof.
  intros Z v v' v'' B B_2 s V W L HB HB2. exists (nll_bend_along Z (v s) (v' s) (v'' s)). split.
  - exists (fun t => nll_slope_along Z (v t) (v' t)).
    split; [intros; apply nll_line; auto; apply L | apply nll_slope_line; auto; apply L].
  - apply nll_bend_below; auto.
Qed.

Theorem lemma_30_theta_holds : lemma_30_theta.
Proof.
  intros Z v v' v'' B B_2 M s V W L HB HB2 HM HP. exists (risk_bend_along Z (v s) (v' s) (v'' s)). split.
  - exists (fun t => risk_slope_along Z (v t) (v' t)).
    split; [intros; apply risk_line; auto; apply L | apply risk_slope_line; auto; apply L].
  - apply risk_bend_below; auto.
Qed.

Theorem lemma_30_zeta_holds : lemma_30_zeta.
Proof.
  intros n omega mean zeta zeta' beta Hw slope. split.
  - intros p. replace (sum n (fun j => slope zeta j * p j)) with
      (- beta ^ 2 * sum n (fun j => omega j * (2 * (zeta j - mean j) * (p j - 0))))
      by (rewrite <- sum_scal; apply sum_ext; intros; unfold slope; ring).
    apply scaled_derivative.
    apply (sum_derivative n (fun s j => omega j * (along zeta p s j - mean j) ^ 2)). intros j.
    apply scaled_derivative.
    pose proof (square_derivative (fun s => along zeta p s j - mean j) 0 (p j - 0)) as Q.
    cbv beta in Q. rewrite along_0 in Q. apply Q.
    apply derivable_pt_lim_minus; [apply (line zeta p 0 j) | apply derivable_pt_lim_const].
  - rewrite <- sum_scal. apply sum_le. intros j Hj. unfold slope.
    replace ((2 * beta ^ 2 * (omega j * (mean j - zeta j)) -
      2 * beta ^ 2 * (omega j * (mean j - zeta' j))) ^ 2) with
      ((2 * beta ^ 2) ^ 2 * (omega j ^ 2 * (zeta j - zeta' j) ^ 2)) by ring.
    apply Rmult_le_compat_l; [apply pow2_ge_0 |].
    rewrite <- (Rmult_1_l ((zeta j - zeta' j) ^ 2)) at 2.
    apply Rmult_le_compat_r; [apply pow2_ge_0 |]. rewrite <- (pow1 2). apply pow_incr. auto.
Qed.

Print Assumptions lemma_29_holds.
Print Assumptions lemma_30_value_holds.
Print Assumptions lemma_30_nll_holds.
Print Assumptions lemma_30_theta_holds.
Print Assumptions lemma_30_zeta_holds.
