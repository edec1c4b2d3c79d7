(* Theorem 11 of the paper with its Lemmas 8 to 10 and 24 to 26: PL of the empirical objectives, with
   the constants of its appendix, over finite index types. *)
Require Import Reals Lra Lia Psatz FunctionalExtensionality.
Require Import vectors two_time_scales softmax risk gradient alpha.
Open Scope R_scope.

(* --- statements *)

(* The grouped empirical notation of the appendix. Weights are zero at evaluated states without a
   decision; rows are the distinct anchor states of the Bellman-error sample. *)
Record sample := {
  evaluated : nat;  (* the states of X_Q *)
  acts : nat;  (* |A| *)
  rows : nat;  (* B *)
  discount : R;
  nll_weight : vector;  (* omega^NLL_x *)
  shares : nat -> nat -> R;  (* pi-hat_x(a) *)
  row_state : nat -> nat;  (* x_j *)
  row_action : nat -> nat;  (* a_(x_j) *)
  row_reward : vector;
  be_weight : vector;  (* omega^BE_j *)
  row_moves : nat -> vector  (* P-hat_j(y) *)
}.

Section Statements.
Variable Z : sample.
Local Notation X := (evaluated Z).
Local Notation K := (acts Z).
Local Notation B := (rows Z).

Definition valid := (0 < X)%nat /\ (0 < K)%nat /\ 0 <= discount Z < 1 /\
  (forall x, (x < X)%nat -> 0 <= nll_weight Z x /\ sum K (shares Z x) = 1 /\
    forall a, (a < K)%nat -> 0 <= shares Z x a) /\
  (forall j, (j < B)%nat -> (row_state Z j < X)%nat /\ (row_action Z j < K)%nat /\
    0 < be_weight Z j /\ sum X (row_moves Z j) = 1 /\
    forall y, (y < X)%nat -> 0 <= row_moves Z j y) /\
  (forall i j, (i < B)%nat -> (j < B)%nat -> row_state Z i = row_state Z j -> i = j).

Definition nll_of (q : vector) := sum X (fun x => nll_weight Z x *
  sum K (fun a => shares Z x a * - ln (choice K q x a))).
Definition psi (q : vector) (j : nat) := row_reward Z j +
  discount Z * ahead X K (row_moves Z) q j - q (pair K (row_state Z j) (row_action Z j)).
Definition be_of (q : vector) := sum B (fun j => be_weight Z j * psi q j ^ 2).
Definition risk_of (q : vector) := nll_of q + be_of q.

(* A_theta' u, and the gradients in the outputs *)
Definition transposed (q u : vector) (x k : nat) := sum B (fun j => u j *
  (discount Z * row_moves Z j x * choice K q x k -
   one x (row_state Z j) * one k (row_action Z j))).
Definition nll_slope (q : vector) (x k : nat) :=
  nll_weight Z x * (choice K q x k - shares Z x k).
Definition be_slope (q : vector) := transposed q (fun j => 2 * (be_weight Z j * psi q j)).
Definition risk_slope (q : vector) (x k : nat) := nll_slope q x k + be_slope q x k.

(* |t|^2; the projections off and onto the within-state zero-sum subspaces U *)
Definition square_of (t : nat -> nat -> R) := sum X (fun x => sum K (fun k => t x k ^ 2)).
Definition p_perp (t : nat -> nat -> R) (x k : nat) := sum K (t x) / INR K.
Definition p_par (t : nat -> nat -> R) (x k : nat) := t x k - p_perp t x k.
Definition squared (u : vector) := sum B (fun j => u j ^ 2).

(* phi is differentiable: along every differentiable curve it has this slope *)
Definition differentiable (phi : vector -> R) (slope : vector -> nat -> nat -> R) :=
  forall v v' s, curve v s v' -> derivable_pt_lim (fun s => phi (v s)) s
    (sum X (fun x => sum K (fun k => slope (v s) x k * v' (pair K x k)))).

(* Assumption (ii) at theta: outputs of n parameters with the Jacobian J, J J' >= mu *)
Definition outputs_at (n : nat) (outputs : vector -> vector) (J : nat -> vector) (mu : R)
  (theta : vector) :=
  (forall p i, derivable_pt_lim (fun s => outputs (along theta p s) i) 0
    (sum n (fun d => J d i * p d))) /\
  forall t, sum n (fun d => sum X (fun x => sum K (fun k => J d (pair K x k) * t x k)) ^ 2) >=
    mu * square_of t.
(* J' t *)
Definition in_theta (J : nat -> vector) (t : nat -> nat -> R) : vector :=
  fun d => sum X (fun x => sum K (fun k => J d (pair K x k) * t x k)).
(* phi of the outputs has the gradient J' t at theta, and (1/2) |J' t|^2 >= c (phi - least) *)
Definition pl_at (n : nat) (outputs : vector -> vector) (J : nat -> vector)
  (phi : vector -> R) (t : nat -> nat -> R) (c least : R) (theta : vector) :=
  (forall p, derivable_pt_lim (fun s => phi (outputs (along theta p s))) 0
    (sum n (fun d => in_theta J t d * p d))) /\
  sum n (fun d => in_theta J t d ^ 2) / 2 >= c * (phi (outputs theta) - least).

(* least is the infimum of phi on a set, or more: no lower bound is above it *)
Definition infimum (phi : vector -> R) (outputs : vector -> vector) (ball : vector -> Prop)
  (least : R) := forall l, (forall theta, ball theta -> l <= phi (outputs theta)) -> l <= least.

(* gamma_perp^2; lo and hi are Q_- and Q_+ *)
Definition gamma2 := (1 - discount Z) ^ 2 / (INR K * INR X).
Definition p_low (lo hi : R) := exp lo / (INR K * exp hi).
Definition within (lo hi : R) (q : vector) := forall x k, (x < X)%nat -> (k < K)%nat ->
  lo <= q (pair K x k) <= hi.
Definition nll_least (m : R) := 0 < m /\
  forall x, (x < X)%nat -> 0 < nll_weight Z x -> m <= nll_weight Z x.
Definition be_between (m M : R) := 0 < m /\ m <= M /\
  forall j, (j < B)%nat -> m <= be_weight Z j <= M.
(* kappa_perp^2 = C_par^2 / gamma_perp^2, C_par a bound of P_par A' *)
Definition c_par (C : R) (q : vector) := forall u,
  square_of (p_par (transposed q u)) <= C ^ 2 * squared u.
Definition kappa2 (C : R) := C ^ 2 / gamma2.
End Statements.

Definition lemma_24 := forall Z phi slope n outputs J mu theta c least,
  differentiable Z phi slope -> outputs_at Z n outputs J mu theta -> 0 <= mu ->
  let q := outputs theta in
  square_of Z (slope q) / 2 >= c * (phi q - least) ->
  pl_at Z n outputs J phi (slope q) (c * mu) least theta.

Definition lemma_25 := forall Z, valid Z -> 0 < gamma2 Z /\ forall q u,
  square_of Z (p_perp Z (transposed Z q u)) >= gamma2 Z * squared Z u /\
  square_of Z (transposed Z q u) >= gamma2 Z * squared Z u.

Definition lemma_8 := forall Z m M n outputs J mu theta, valid Z -> be_between Z m M ->
  outputs_at Z n outputs J mu theta -> 0 <= mu ->
  pl_at Z n outputs J (be_of Z) (be_slope Z (outputs theta)) (2 * gamma2 Z * (m ^ 2 / M) * mu) 0
    theta.

Definition lemma_9 := forall Z lo hi m n outputs J mu (ball : vector -> Prop) theta least, valid Z ->
  nll_least Z m -> (forall theta, ball theta -> within Z lo hi (outputs theta)) -> ball theta ->
  infimum (nll_of Z) outputs ball least -> outputs_at Z n outputs J mu theta -> 0 <= mu ->
  pl_at Z n outputs J (nll_of Z) (nll_slope Z (outputs theta)) (p_low Z lo hi * m / 2 * mu) least
    theta.

Definition lemma_26 := forall Z C m M q, valid Z -> c_par Z C q -> be_between Z m M ->
  square_of Z (risk_slope Z q) >= 1 / (2 * (1 + kappa2 Z C)) * square_of Z (nll_slope Z q) +
    2 * gamma2 Z * (m ^ 2 / M) * be_of Z q.

Definition theorem_11 := forall Z lo hi C m mb Mb n outputs J mu (ball : vector -> Prop) theta least, valid Z ->
  nll_least Z m -> be_between Z mb Mb ->
  (forall theta, ball theta -> within Z lo hi (outputs theta)) -> ball theta ->
  c_par Z C (outputs theta) ->
  infimum (risk_of Z) outputs ball least -> outputs_at Z n outputs J mu theta -> 0 <= mu ->
  let c := Rmin (p_low Z lo hi * m / (4 * (1 + kappa2 Z C))) (gamma2 Z * (mb ^ 2 / Mb)) in
  0 < c /\ pl_at Z n outputs J (risk_of Z) (risk_slope Z (outputs theta)) (c * mu) least theta.

(* C_par is finite, with no compactness: one bound serves all tables. *)
Definition c_par_is_finite := forall Z, valid Z -> exists C, forall q, c_par Z C q.

(* The auxiliary regression: G pairs with weights omega, targets y and outputs zeta of n parameters. *)
Definition lemma_10 := forall G n (omega y : vector) beta m (zeta : vector -> vector) J mu phi,
  (forall i, (i < G)%nat -> m <= omega i) -> 0 <= m -> 0 <= mu ->
  (forall p i, derivable_pt_lim (fun s => zeta (along phi p s) i) 0
    (sum n (fun d => J d i * p d))) ->
  (forall t : vector, sum n (fun d => sum G (fun i => J d i * t i) ^ 2) >=
    mu * sum G (fun i => t i ^ 2)) ->
  let F := fun phi => beta ^ 2 * sum G (fun i => omega i * (zeta phi i - y i) ^ 2) in
  let D := fun d => sum G (fun i => J d i * (2 * beta ^ 2 * (omega i * (zeta phi i - y i)))) in
  (forall p, derivable_pt_lim (fun s => F (along phi p s)) 0 (sum n (fun d => D d * p d))) /\
  sum n (fun d => D d ^ 2) / 2 >= 2 * beta ^ 2 * mu * m * F phi.

(* --- projections *)
Section Proof.
Variable Z : sample.
Local Notation X := (evaluated Z).
Local Notation K := (acts Z).
Local Notation B := (rows Z).
Hypothesis V : valid Z.

Lemma K_pos : (0 < K)%nat.
Proof. apply V. Qed.

Lemma INR_K : 0 < INR K.
Proof. apply (lt_INR 0). apply V. Qed.

Lemma INR_X : 0 < INR X.
Proof. apply (lt_INR 0). apply V. Qed.

Lemma square_of_pos : forall t, 0 <= square_of Z t.
Proof. intros. apply sum_pos. intros. apply sum_pos. intros. apply pow2_ge_0. Qed.

Lemma squared_pos : forall u, 0 <= squared Z u.
Proof. intros. apply sum_pos. intros. apply pow2_ge_0. Qed.

Lemma in_block : forall (t : nat -> nat -> R) c x, sum K (t x) = 0 ->
  sum K (fun k => (t x k + c) ^ 2) = sum K (fun k => t x k ^ 2) + INR K * c ^ 2.
Proof.
  intros t c x H. rewrite (sum_ext K _ (fun k => t x k ^ 2 + (2 * c * t x k + c ^ 2)))
    by (intros; ring). rewrite !sum_plus, sum_scal, H, sum_const. ring.
Qed.

Lemma par_sum : forall (t : nat -> nat -> R) x, sum K (p_par Z t x) = 0.
Proof.
  intros t x. pose proof INR_K. unfold p_par, p_perp.
  rewrite (sum_ext K _ (fun k => t x k + - (sum K (t x) / INR K))) by (intros; ring).
  rewrite sum_plus, sum_const. field. lra.
Qed.

(* Pythagoras, where t is zero-sum in each state *)
Lemma pythagoras : forall t s : nat -> nat -> R, (forall x, (x < X)%nat -> sum K (t x) = 0) ->
  square_of Z (fun x k => t x k + s x k) =
  square_of Z (fun x k => t x k + p_par Z s x k) + square_of Z (p_perp Z s).
Proof.
  intros t s H. unfold square_of. rewrite <- sum_plus. apply sum_ext. intros x Hx.
  set (c := sum K (s x) / INR K).
  assert (E : forall k, t x k + s x k = (t x k + p_par Z s x k) + c)
    by (intros; unfold p_par, p_perp; fold c; ring).
  rewrite (sum_ext K _ (fun k => ((t x k + p_par Z s x k) + c) ^ 2))
    by (intros; rewrite E; auto).
  rewrite (in_block (fun x k => t x k + p_par Z s x k)).
  - unfold p_perp. fold c. rewrite sum_const. auto.
  - rewrite sum_plus, H, par_sum by auto. ring.
Qed.

(* --- Lemma 25: coercivity by constant shifts *)
Lemma one_sign : forall u x, exists s, (s = 0 \/ s = 1 \/ s = -1) /\
  forall j, (j < B)%nat -> row_state Z j = x -> s * u j = Rabs (u j).
Proof.
  intros u x.
  assert (I : forall n, (n <= B)%nat -> exists s, (s = 0 \/ s = 1 \/ s = -1) /\
    forall j, (j < n)%nat -> row_state Z j = x -> s * u j = Rabs (u j)).
  { induction n; intros Hn; [exists 0; split; [auto | intros; lia] |].
    destruct (Nat.eq_dec (row_state Z n) x) as [E | E].
    - assert (Only : forall j, (j < S n)%nat -> row_state Z j = x -> j = n).
      { intros j Hj Ej. destruct V as [_ [_ [_ [_ [_ D]]]]]. apply D; [lia | lia | congruence]. }
      destruct (Rle_lt_dec 0 (u n)) as [P | P].
      + exists 1. split; [auto |]. intros j Hj Ej. rewrite (Only j Hj Ej), Rabs_pos_eq; lra.
      + exists (-1). split; [auto |]. intros j Hj Ej. rewrite (Only j Hj Ej), Rabs_left; lra.
    - destruct (IHn ltac:(lia)) as [s [Hs H]]. exists s. split; [auto |]. intros j Hj Ej.
      apply H; auto. destruct (Nat.eq_dec j n); [subst; contradiction | lia]. }
  apply (I B). lia.
Qed.

Lemma signs : forall u, exists s, (forall x, s x = 0 \/ s x = 1 \/ s x = -1) /\
  forall j, (j < B)%nat -> s (row_state Z j) * u j = Rabs (u j).
Proof.
  intros u.
  assert (I : forall n, exists s, (forall x, s x = 0 \/ s x = 1 \/ s x = -1) /\
    forall j, (j < B)%nat -> (row_state Z j < n)%nat -> s (row_state Z j) * u j = Rabs (u j)).
  { induction n; [exists (fun _ => 0); split; [auto | intros; lia] |].
    destruct IHn as [s [Hs H]]. destruct (one_sign u n) as [c [Hc Hn]].
    exists (fun x => if Nat.eqb x n then c else s x). split.
    - intros x. destruct (Nat.eqb x n); auto.
    - intros j Hj Hx. destruct (Nat.eqb_spec (row_state Z j) n) as [E | E]; [apply Hn; auto |].
      apply H; [auto | lia]. }
  destruct (I X) as [s [Hs H]]. exists s. split; [auto |]. intros. apply H; auto. apply V. auto.
Qed.

(* (beta T u - E u)_x, the sum of A'u in a state *)
Lemma block_sum : forall q u x, sum K (transposed Z q u x) =
  sum B (fun j => u j * (discount Z * row_moves Z j x - one x (row_state Z j))).
Proof.
  intros q u x. unfold transposed. rewrite sum_swap. apply sum_ext. intros j Hj.
  rewrite sum_scal. f_equal.
  rewrite (sum_ext K _ (fun k => discount Z * row_moves Z j x * choice K q x k +
    - one x (row_state Z j) * (one k (row_action Z j) * 1))) by (intros; ring).
  rewrite sum_plus, !sum_scal, choice_sum, sum_one; [ring | apply V; auto | apply K_pos].
Qed.

Lemma coercive : forall q u,
  (1 - discount Z) * sum B (fun j => Rabs (u j)) <=
  sum X (fun x => Rabs (sum K (transposed Z q u x))).
Proof.
  intros q u. destruct (signs u) as [s [Hs H]].
  assert (Sb : forall x, Rabs (s x) <= 1).
  { intros x. destruct (Hs x) as [E | [E | E]]; rewrite E; [rewrite Rabs_R0 | rewrite Rabs_R1 |
      rewrite Rabs_left]; lra. }
  apply Rle_trans with (sum X (fun x => - s x * sum K (transposed Z q u x))).
  - rewrite (sum_ext X _ (fun x => sum B (fun j => - s x *
      (u j * (discount Z * row_moves Z j x - one x (row_state Z j))))))
      by (intros; rewrite block_sum, sum_scal; auto).
    rewrite sum_swap, <- sum_scal. apply sum_le. intros j Hj.
    destruct V as [_ [_ [Bt [_ [R _]]]]]. destruct (R j Hj) as [Hx [_ [_ [M1 Mp]]]].
    rewrite (sum_ext X _ (fun x => - discount Z * u j * (row_moves Z j x * s x) +
      u j * (one x (row_state Z j) * s x))) by (intros; ring).
    rewrite sum_plus, !sum_scal, sum_one by auto.
    rewrite (Rmult_comm (u j) (s _)), H by auto.
    assert (T : Rabs (sum X (fun x => row_moves Z j x * s x)) <= 1).
    { rewrite <- M1. clear - Mp Sb.
      assert (G : forall n, (n <= X)%nat -> Rabs (sum n (fun x => row_moves Z j x * s x)) <=
        sum n (row_moves Z j)).
      { induction n; intros; simpl; [rewrite Rabs_R0; lra |].
        eapply Rle_trans; [apply Rabs_triang |]. apply Rplus_le_compat; [apply IHn; lia |].
        rewrite Rabs_mult, Rabs_pos_eq by (apply Mp; lia).
        rewrite <- (Rmult_1_r (row_moves Z j n)) at 2. apply Rmult_le_compat_l;
          [apply Mp; lia | apply Sb]. }
      apply G. lia. }
    set (tau := sum X (fun x => row_moves Z j x * s x)) in *.
    assert (Q : discount Z * u j * tau <= discount Z * Rabs (u j)).
    { rewrite Rmult_assoc. apply Rmult_le_compat_l; [lra |].
      eapply Rle_trans; [apply Rle_abs |]. rewrite Rabs_mult.
      rewrite <- (Rmult_1_r (Rabs (u j))) at 2. apply Rmult_le_compat_l; [apply Rabs_pos | auto]. }
    lra.
  - apply sum_le. intros x _. eapply Rle_trans; [apply Rle_abs |].
    rewrite Rabs_mult, Rabs_Ropp. rewrite <- (Rmult_1_l (Rabs (sum K _))) at 2.
    apply Rmult_le_compat_r; [apply Rabs_pos | apply Sb].
Qed.

Lemma gamma2_pos : 0 < gamma2 Z.
Proof.
  pose proof INR_K. pose proof INR_X. destruct V as [_ [_ [Bt _]]]. apply Rdiv_lt_0_compat;
    [apply pow_lt; lra | apply Rmult_lt_0_compat; auto].
Qed.

Lemma perp_above : forall q u,
  gamma2 Z * squared Z u <= square_of Z (p_perp Z (transposed Z q u)).
Proof.
  intros q u. pose proof INR_K as HK. pose proof INR_X as HX.
  assert (Bt : 0 <= discount Z < 1) by apply V.
  set (c := fun x => sum K (transposed Z q u x)).
  assert (E : square_of Z (p_perp Z (transposed Z q u)) = sum X (fun x => c x ^ 2) / INR K).
  { unfold square_of, p_perp, Rdiv at 2. rewrite Rmult_comm, <- sum_scal. apply sum_ext.
    intros x _. rewrite sum_const. fold (c x). field. lra. }
  rewrite E.
  pose proof (coercive q u) as Co. fold c in Co.
  change (fun x => Rabs (sum K (transposed Z q u x))) with (fun x => Rabs (c x)) in Co.
  set (U1 := sum B (fun j => Rabs (u j))) in *.
  assert (U0 : 0 <= U1) by (apply sum_pos; intros; apply Rabs_pos).
  pose proof (sum_squares B u) as Sq. fold (squared Z u) U1 in Sq.
  pose proof (cauchy_sum X (fun _ => 1) (fun x => Rabs (c x)) (fun _ => 1)
    ltac:(intros; lra)) as Ca. cbv beta in Ca.
  rewrite (sum_ext X (fun x => 1 * Rabs (c x) * 1) (fun x => Rabs (c x))) in Ca by (intros; ring).
  rewrite (sum_ext X (fun x => 1 * Rabs (c x) ^ 2) (fun x => c x ^ 2)) in Ca
    by (intros; rewrite <- !Rsqr_pow2, <- Rsqr_abs; ring).
  rewrite sum_const in Ca.
  assert (Q : ((1 - discount Z) * U1) ^ 2 <= sum X (fun x => Rabs (c x)) ^ 2).
  { apply pow_incr. split; [apply Rmult_le_pos; lra | auto]. }
  assert (Q2 : (1 - discount Z) ^ 2 * squared Z u <= sum X (fun x => c x ^ 2) * INR X).
  { apply Rle_trans with ((1 - discount Z) ^ 2 * U1 ^ 2);
      [apply Rmult_le_compat_l; [apply pow2_ge_0 | auto] |]. rewrite <- Rpow_mult_distr. lra. }
  unfold gamma2. apply Rmult_le_reg_r with (INR K * INR X); [apply Rmult_lt_0_compat; auto |].
  replace ((1 - discount Z) ^ 2 / (INR K * INR X) * squared Z u * (INR K * INR X))
    with ((1 - discount Z) ^ 2 * squared Z u) by (field; lra).
  replace (sum X (fun x => c x ^ 2) / INR K * (INR K * INR X))
    with (sum X (fun x => c x ^ 2) * INR X) by (field; lra). exact Q2.
Qed.

Lemma all_above : forall q u, gamma2 Z * squared Z u <= square_of Z (transposed Z q u).
Proof.
  intros q u. pose proof (perp_above q u) as H.
  pose proof (pythagoras (fun _ _ => 0) (transposed Z q u)) as P. cbv beta in P.
  assert (E : square_of Z (fun x k => 0 + transposed Z q u x k) = square_of Z (transposed Z q u))
    by (apply sum2_ext; intros; ring).
  rewrite E in P. rewrite P by (intros; rewrite sum_const; ring).
  pose proof (square_of_pos (fun x k => 0 + p_par Z (transposed Z q u) x k)). lra.
Qed.

Lemma entry_below : forall q u x k, (x < X)%nat -> (k < K)%nat ->
  transposed Z q u x k ^ 2 <= INR B * squared Z u.
Proof.
  intros q u x k Hx Hk. unfold transposed.
  set (e := fun j => discount Z * row_moves Z j x * choice K q x k -
    one x (row_state Z j) * one k (row_action Z j)).
  assert (He : forall j, (j < B)%nat -> e j ^ 2 <= 1).
  { intros j Hj. destruct V as [_ [HK [Bt [_ [R _]]]]]. destruct (R j Hj) as [_ [_ [_ [M1 Mp]]]].
    assert (M2 : 0 <= row_moves Z j x <= 1).
    { split; [auto |]. rewrite <- M1. apply (sum_term X (row_moves Z j)); auto. }
    pose proof (choice_pos K q x k HK). pose proof (choice_le K q x k HK Hk).
    assert (A : 0 <= discount Z * row_moves Z j x * choice K q x k <= 1).
    { assert (0 <= discount Z * row_moves Z j x <= 1) by nra. nra. }
    assert (0 <= one x (row_state Z j) * one k (row_action Z j) <= 1).
    { unfold one. destruct (Nat.eqb x (row_state Z j)), (Nat.eqb k (row_action Z j)); lra. }
    unfold e. nra. }
  pose proof (cauchy_sum B (fun _ => 1) e u ltac:(intros; lra)) as Ca. cbv beta in Ca.
  assert (E : sum B (fun j => 1 * e j ^ 2) <= INR B).
  { rewrite <- (Rmult_1_r (INR B)), <- sum_const. apply sum_le. intros j Hj.
    pose proof (He j Hj). lra. }
  assert (E2 : sum B (fun j => 1 * u j ^ 2) = squared Z u) by (apply sum_ext; intros; ring).
  rewrite E2 in Ca. rewrite (sum_ext B _ (fun j => 1 * e j * u j)) by (intros; unfold e; ring).
  pose proof (squared_pos u).
  eapply Rle_trans; [exact Ca |]. apply Rmult_le_compat_r; auto.
Qed.

Lemma par_below : forall s, square_of Z (p_par Z s) <= square_of Z s.
Proof.
  intros s. pose proof (pythagoras (fun _ _ => 0) s) as P. cbv beta in P.
  assert (E1 : square_of Z (fun x k => 0 + s x k) = square_of Z s) by (apply sum2_ext; intros; ring).
  assert (E2 : square_of Z (fun x k => 0 + p_par Z s x k) = square_of Z (p_par Z s))
    by (apply sum2_ext; intros; ring).
  rewrite E1, E2 in P. rewrite P by (intros; rewrite sum_const; ring).
  pose proof (square_of_pos (p_perp Z s)). lra.
Qed.

(* --- slopes *)
Lemma nll_differentiable : differentiable Z (nll_of Z) (nll_slope Z).
Proof.
  intros v v' s H. pose proof K_pos as HK. unfold nll_of, nll_slope.
  destruct V as [_ [_ [_ [W _]]]].
  assert (E : forall x, (x < X)%nat ->
    sum K (fun k => nll_weight Z x * (choice K (v s) x k - shares Z x k) * v' (pair K x k)) =
    nll_weight Z x * sum K (fun k => shares Z x k *
      (sum K (fun l => choice K (v s) x l * v' (pair K x l)) - v' (pair K x k)))).
  { intros x Hx. destruct (W x Hx) as [_ [S1 _]]. rewrite <- sum_scal.
    set (t := sum K (fun l => choice K (v s) x l * _)).
    rewrite (sum_ext K (fun k => nll_weight Z x * (shares Z x k * _)) (fun k =>
      nll_weight Z x * t * shares Z x k + - nll_weight Z x * (shares Z x k * v' (pair K x k))))
      by (intros; ring).
    rewrite sum_plus, !sum_scal, S1.
    rewrite (sum_ext K _ (fun k => nll_weight Z x * (choice K (v s) x k * v' (pair K x k)) +
      - nll_weight Z x * (shares Z x k * v' (pair K x k)))) by (intros; ring).
    rewrite sum_plus, !sum_scal. fold t. ring. }
  rewrite (sum_ext X _ _ E).
  apply (sum_derivative X (fun s x => nll_weight Z x * _)). intros x. apply scaled_derivative.
  apply (sum_derivative K (fun s k => shares Z x k * _)). intros k. apply scaled_derivative.
  assert (F : (fun s => - ln (choice K (v s) x k)) =
    (fun s => value K (v s) x - v s (pair K x k))).
  { apply functional_extensionality. intros t. rewrite log_choice by auto. ring. }
  rewrite F. apply derivable_pt_lim_minus; [apply value_curve; auto | apply H].
Qed.

Lemma be_differentiable : differentiable Z (be_of Z) (be_slope Z).
Proof.
  intros v v' s H. pose proof K_pos as HK.
  set (move := fun j => discount Z * slope X K (row_moves Z) (v s) v' j -
    v' (pair K (row_state Z j) (row_action Z j))).
  assert (E : sum X (fun x => sum K (fun k => be_slope Z (v s) x k * v' (pair K x k))) =
    sum B (fun j => be_weight Z j * (2 * psi Z (v s) j * move j))).
  { unfold be_slope, transposed.
    rewrite (sum2_ext X K _ (fun x k => sum B (fun j => 2 * (be_weight Z j * psi Z (v s) j) *
      ((discount Z * row_moves Z j x * choice K (v s) x k -
        one x (row_state Z j) * one k (row_action Z j)) * v' (pair K x k)))))
      by (intros; rewrite Rmult_comm, <- sum_scal; apply sum_ext; intros; ring).
    rewrite (sum_ext X _ (fun x => sum B (fun j => sum K (fun k =>
      2 * (be_weight Z j * psi Z (v s) j) *
      ((discount Z * row_moves Z j x * choice K (v s) x k -
        one x (row_state Z j) * one k (row_action Z j)) * v' (pair K x k))))))
      by (intros; apply sum_swap).
    rewrite sum_swap. apply sum_ext. intros j Hj. rewrite sum2_scal.
    replace (be_weight Z j * (2 * psi Z (v s) j * move j))
      with (2 * (be_weight Z j * psi Z (v s) j) * move j) by ring. f_equal. unfold move, slope.
    destruct V as [_ [_ [_ [_ [R _]]]]]. destruct (R j Hj) as [Hx [Ha _]].
    rewrite (sum2_ext X K _ (fun x k =>
      discount Z * (row_moves Z j x * (choice K (v s) x k * v' (pair K x k))) +
      -1 * (one x (row_state Z j) * (one k (row_action Z j) * v' (pair K x k)))))
      by (intros; ring).
    rewrite sum2_plus, !sum2_scal. unfold Rminus. f_equal.
    - f_equal. apply sum_ext. intros. apply sum_scal.
    - rewrite (sum_ext X _ (fun x => one x (row_state Z j) *
        v' (pair K x (row_action Z j)))) by (intros; rewrite sum_scal, sum_one; auto).
      rewrite (sum_one X (row_state Z j) (fun x => v' (pair K x (row_action Z j)))) by auto. ring. }
  rewrite E. unfold be_of.
  apply (sum_derivative B (fun s j => be_weight Z j * psi Z (v s) j ^ 2)). intros j.
  apply scaled_derivative. apply (square_derivative (fun s => psi Z (v s) j)). unfold psi, move.
  apply derivable_pt_lim_minus; [| apply H]. rewrite <- (Rplus_0_l (discount Z * _)).
  apply derivable_pt_lim_plus; [apply derivable_pt_lim_const |]. apply scaled_derivative.
  apply ahead_curve; auto.
Qed.

Lemma risk_differentiable : differentiable Z (risk_of Z) (risk_slope Z).
Proof.
  intros v v' s H. unfold risk_of, risk_slope.
  rewrite (sum2_ext X K _ (fun x k => nll_slope Z (v s) x k * v' (pair K x k) +
    be_slope Z (v s) x k * v' (pair K x k))) by (intros; ring).
  rewrite sum2_plus. apply derivable_pt_lim_plus; [apply nll_differentiable | apply be_differentiable];
    auto.
Qed.

(* --- the likelihood: KL against the squared distance *)
Definition entropy_of := sum X (fun x => nll_weight Z x *
  sum K (fun a => - (shares Z x a * ln (shares Z x a)))).
Definition kl_of (q : vector) (x : nat) :=
  sum K (fun a => shares Z x a * (ln (shares Z x a) - ln (choice K q x a))).

Lemma nll_splits : forall q, nll_of Z q = entropy_of + sum X (fun x => nll_weight Z x * kl_of q x).
Proof.
  intros. unfold nll_of, entropy_of, kl_of. rewrite <- sum_plus. apply sum_ext. intros x _.
  rewrite <- Rmult_plus_distr_l, <- sum_plus. f_equal. apply sum_ext. intros. ring.
Qed.

Lemma kl_of_pos : forall q x, (x < X)%nat -> 0 <= kl_of q x.
Proof.
  intros q x Hx. destruct V as [_ [HK [_ [W _]]]]. destruct (W x Hx) as [_ [S1 Sp]].
  apply gibbs_inequality; auto.
Qed.

Lemma nll_above : forall q, entropy_of <= nll_of Z q.
Proof.
  intros q. rewrite nll_splits.
  assert (0 <= sum X (fun x => nll_weight Z x * kl_of q x)); [| lra].
  apply sum_pos. intros x Hx. destruct V as [_ [_ [_ [W _]]]]. destruct (W x Hx) as [W0 _].
  apply Rmult_le_pos; [auto | apply kl_of_pos; auto].
Qed.

Lemma be_of_pos : forall q, 0 <= be_of Z q.
Proof.
  intros q. apply sum_pos. intros j Hj. destruct V as [_ [_ [_ [_ [R _]]]]].
  destruct (R j Hj) as [_ [_ [W _]]]. apply Rmult_le_pos; [lra | apply pow2_ge_0].
Qed.

Lemma choice_low : forall lo hi q, within Z lo hi q -> forall x k, (x < X)%nat -> (k < K)%nat ->
  p_low Z lo hi <= choice K q x k.
Proof.
  intros lo hi q H x k Hx Hk. pose proof K_pos as HK. pose proof INR_K as IK.
  assert (ex : forall a c, a <= c -> exp a <= exp c).
  { intros a c [L | E]; [left; apply exp_increasing; auto | subst; right; auto]. }
  unfold p_low, choice, Rdiv. apply Rmult_le_compat.
  - left. apply exp_pos.
  - left. apply Rinv_0_lt_compat. apply Rmult_lt_0_compat; [auto | apply exp_pos].
  - apply ex. apply H; auto.
  - apply Rinv_le_contravar; [apply total_pos; auto |]. unfold total. rewrite <- sum_const.
    apply sum_le. intros. apply ex. apply H; auto.
Qed.

Lemma kl_against_square : forall p_ q x, 0 < p_ -> (x < X)%nat ->
  (forall k, (k < K)%nat -> p_ <= choice K q x k) ->
  p_ * kl_of q x <= sum K (fun k => (choice K q x k - shares Z x k) ^ 2).
Proof.
  intros p_ q x Hp Hx Low. destruct V as [_ [HK [_ [W _]]]]. destruct (W x Hx) as [_ [S1 Sp]].
  assert (A : kl_of q x <= sum K (fun k => shares Z x k * (shares Z x k / choice K q x k - 1))).
  { apply sum_le. intros k Hk. pose proof (choice_pos K q x k HK) as Q. destruct (Sp k Hk) as [H | H].
    - assert (R : 0 < shares Z x k / choice K q x k) by (apply Rdiv_lt_0_compat; auto).
      pose proof (ln_below _ R) as L. unfold Rdiv in L at 1.
      rewrite ln_mult, ln_Rinv in L by (auto using Rinv_0_lt_compat).
      apply Rmult_le_compat_l; lra.
    - rewrite <- H. lra. }
  assert (E : sum K (fun k => shares Z x k * (shares Z x k / choice K q x k - 1)) =
    sum K (fun k => (choice K q x k - shares Z x k) ^ 2 / choice K q x k)).
  { rewrite (sum_ext K (fun k => (choice K q x k - shares Z x k) ^ 2 / choice K q x k) (fun k =>
      shares Z x k * (shares Z x k / choice K q x k - 1) +
      (choice K q x k + -1 * shares Z x k)))
      by (intros k Hk; pose proof (choice_pos K q x k HK); field; lra).
    rewrite !sum_plus, sum_scal, S1, choice_sum by auto. ring. }
  rewrite E in A. apply Rle_trans with (p_ * sum K (fun k =>
    (choice K q x k - shares Z x k) ^ 2 / choice K q x k)); [apply Rmult_le_compat_l; lra |].
  rewrite <- sum_scal. apply sum_le. intros k Hk. pose proof (Low k Hk) as L.
  pose proof (pow2_ge_0 (choice K q x k - shares Z x k)) as Sq.
  set (t := (choice K q x k - shares Z x k) ^ 2) in *. set (p := choice K q x k) in *.
  apply Rmult_le_reg_r with p; [lra |]. replace (p_ * (t / p) * p) with (p_ * t) by (field; lra).
  nra.
Qed.

Lemma p_low_pos : forall lo hi, 0 < p_low Z lo hi.
Proof.
  intros. unfold p_low. pose proof INR_K. apply Rdiv_lt_0_compat; [apply exp_pos |].
  apply Rmult_lt_0_compat; [auto | apply exp_pos].
Qed.

Lemma nll_pl : forall lo hi m q, within Z lo hi q -> nll_least Z m ->
  p_low Z lo hi * m * (nll_of Z q - entropy_of) <= square_of Z (nll_slope Z q).
Proof.
  intros lo hi m q Hq [Hm M]. pose proof (p_low_pos lo hi) as Hp.
  rewrite nll_splits. unfold square_of.
  replace (p_low Z lo hi * m * (entropy_of + sum X (fun x => nll_weight Z x * kl_of q x) -
    entropy_of)) with (p_low Z lo hi * m * sum X (fun x => nll_weight Z x * kl_of q x)) by ring.
  rewrite <- sum_scal. apply sum_le. intros x Hx.
  assert (W0 : 0 <= nll_weight Z x) by (apply V; auto).
  rewrite (sum_ext K _ (fun k => nll_weight Z x ^ 2 * (choice K q x k - shares Z x k) ^ 2))
    by (intros; unfold nll_slope; ring). rewrite sum_scal.
  pose proof (kl_against_square (p_low Z lo hi) q x Hp Hx
    (fun k Hk => choice_low lo hi q Hq x k Hx Hk)) as A.
  pose proof (kl_of_pos q x Hx) as K0.
  set (t := sum K _) in *. set (w := nll_weight Z x) in *. set (d := kl_of q x) in *.
  set (p := p_low Z lo hi) in *.
  destruct W0 as [W0 | W0]; [| rewrite <- W0; lra].
  assert (mw : m <= w) by (apply M; auto).
  apply Rle_trans with (w ^ 2 * (p * d)); [| apply Rmult_le_compat_l; [apply pow2_ge_0 | auto]].
  replace (p * m * (w * d)) with ((m * w) * (p * d)) by ring.
  replace (w ^ 2 * (p * d)) with ((w * w) * (p * d)) by ring.
  apply Rmult_le_compat_r; [apply Rmult_le_pos; lra | nra].
Qed.

(* --- the Bellman error *)
Lemma weighted : forall m M q, be_between Z m M ->
  m ^ 2 / M * be_of Z q <= squared Z (fun j => be_weight Z j * psi Z q j).
Proof.
  intros m M q [Hm [HM Hw]]. unfold be_of, squared. rewrite <- sum_scal. apply sum_le.
  intros j Hj. destruct (Hw j Hj) as [L U]. pose proof (pow2_ge_0 (psi Z q j)) as P.
  set (w := be_weight Z j) in *. rewrite Rpow_mult_distr.
  rewrite <- Rmult_assoc. apply Rmult_le_compat_r; [auto |].
  assert (A : m ^ 2 / M <= m).
  { apply Rmult_le_reg_r with M; [lra |].
    replace (m ^ 2 / M * M) with (m * m) by (field; lra). nra. }
  apply Rle_trans with (m * w); [apply Rmult_le_compat_r; lra | nra].
Qed.

Lemma be_slope_is : forall q, be_slope Z q =
  (fun x k => 2 * transposed Z q (fun j => be_weight Z j * psi Z q j) x k).
Proof.
  intros q. apply functional_extensionality. intros x. apply functional_extensionality. intros k.
  unfold be_slope, transposed. rewrite <- sum_scal. apply sum_ext. intros. ring.
Qed.

Lemma be_pl : forall m M q, be_between Z m M ->
  4 * gamma2 Z * (m ^ 2 / M) * be_of Z q <= square_of Z (be_slope Z q).
Proof.
  intros m M q H. pose proof (weighted m M q H) as W. pose proof gamma2_pos as G.
  pose proof (all_above q (fun j => be_weight Z j * psi Z q j)) as A. rewrite be_slope_is.
  set (u := fun j => be_weight Z j * psi Z q j) in *.
  assert (E : square_of Z (fun x k => 2 * transposed Z q u x k) =
    4 * square_of Z (transposed Z q u)).
  { unfold square_of. rewrite <- sum2_scal. apply sum2_ext. intros. ring. }
  rewrite E. assert (gamma2 Z * (m ^ 2 / M * be_of Z q) <= gamma2 Z * squared Z u)
    by (apply Rmult_le_compat_l; lra). lra.
Qed.

(* --- Lemma 26: nothing cancels *)
Lemma no_cancellation : forall C m M q, c_par Z C q -> be_between Z m M ->
  1 / (2 * (1 + kappa2 Z C)) * square_of Z (nll_slope Z q) +
    2 * gamma2 Z * (m ^ 2 / M) * be_of Z q <= square_of Z (risk_slope Z q).
Proof.
  intros C m M q HC HB. pose proof gamma2_pos as G. pose proof (weighted m M q HB) as W.
  set (u := fun j => be_weight Z j * psi Z q j) in *.
  set (a := nll_slope Z q). set (t := transposed Z q u).
  assert (A0 : forall x, (x < X)%nat -> sum K (a x) = 0).
  { intros x Hx. destruct V as [_ [HK [_ [Ws _]]]]. destruct (Ws x Hx) as [_ [S1 _]].
    unfold a, nll_slope. rewrite (sum_ext K _ (fun k => nll_weight Z x * choice K q x k +
      - nll_weight Z x * shares Z x k)) by (intros; ring).
    rewrite sum_plus, !sum_scal, S1, choice_sum by auto. ring. }
  assert (E : square_of Z (risk_slope Z q) = square_of Z (fun x k => a x k + 2 * t x k)).
  { apply sum2_ext. intros. unfold risk_slope. rewrite be_slope_is. auto. }
  rewrite E, (pythagoras a (fun x k => 2 * t x k) A0).
  set (c := square_of Z (p_perp Z t)). set (s2 := square_of Z (p_par Z t)).
  assert (Ec : square_of Z (p_perp Z (fun x k => 2 * t x k)) = 4 * c).
  { unfold c, square_of. rewrite <- sum2_scal. apply sum2_ext. intros. unfold p_perp.
    rewrite sum_scal. unfold Rdiv. ring. }
  rewrite Ec.
  assert (Eb : square_of Z (fun x k => a x k + p_par Z (fun x k => 2 * t x k) x k) =
    square_of Z (fun x k => a x k + 2 * p_par Z t x k)).
  { apply sum2_ext. intros. unfold p_par, p_perp. rewrite sum_scal. unfold Rdiv. ring. }
  rewrite Eb. set (S2 := square_of Z (fun x k => a x k + 2 * p_par Z t x k)).
  assert (S0 : 0 <= S2) by apply square_of_pos.
  assert (C1 : gamma2 Z * squared Z u <= c) by apply perp_above.
  assert (P1 : s2 <= C ^ 2 * squared Z u) by apply HC.
  assert (U0 : 0 <= squared Z u) by apply squared_pos.
  assert (c0 : 0 <= c) by apply square_of_pos.
  set (k2 := kappa2 Z C).
  assert (k0 : 0 <= k2).
  { unfold k2, kappa2, Rdiv. apply Rmult_le_pos; [apply pow2_ge_0 |].
    left. apply Rinv_0_lt_compat. auto. }
  assert (P2 : s2 <= k2 * c).
  { eapply Rle_trans; [exact P1 |].
    replace (C ^ 2 * squared Z u) with (k2 * (gamma2 Z * squared Z u))
      by (unfold k2, kappa2; field; lra).
    apply Rmult_le_compat_l; auto. }
  (* |a|^2 <= (1 + k2) (|a + b|^2 + |c|^2), b = 2 P_par t *)
  assert (N : square_of Z a <= (1 + k2) * (S2 + 4 * c)).
  { assert (s0 : 0 <= s2) by apply square_of_pos.
    assert (Young : k2 * square_of Z a <= (1 + k2) * (k2 * S2 + 4 * s2)).
    { unfold S2, s2, square_of.
      rewrite <- sum2_scal. rewrite <- sum2_scal, <- sum2_scal, <- sum2_plus, <- sum2_scal.
      apply sum_le. intros x _. apply sum_le. intros k _.
      pose proof (pow2_ge_0 (k2 * a x k + (1 + k2) * (2 * p_par Z t x k))) as Q. nra. }
    destruct (Req_dec k2 0) as [Z0 | Z0].
    - rewrite Z0 in *. assert (s2 = 0) by lra.
      assert (Ea : square_of Z a = S2).
      { unfold S2. apply sum2_ext. intros x k Hx Hk.
        assert (p_par Z t x k ^ 2 <= s2).
        { unfold s2, square_of.
          eapply Rle_trans; [| apply (sum_term X (fun x => sum K (fun k => p_par Z t x k ^ 2)) x);
            [intros; apply sum_pos; intros; apply pow2_ge_0 | auto]].
          apply (sum_term K (fun k => p_par Z t x k ^ 2)); [intros; apply pow2_ge_0 | auto]. }
        assert (p_par Z t x k = 0) by (pose proof (pow2_ge_0 (p_par Z t x k)); nra).
        rewrite H1. ring. }
      rewrite Ea. lra.
    - apply Rmult_le_reg_l with k2; [lra |]. eapply Rle_trans; [exact Young |].
      replace (k2 * ((1 + k2) * (S2 + 4 * c))) with ((1 + k2) * (k2 * S2 + 4 * (k2 * c))) by ring.
      apply Rmult_le_compat_l; lra. }
  assert (N2 : 1 / (2 * (1 + k2)) * square_of Z a <= (S2 + 4 * c) / 2).
  { apply Rmult_le_reg_r with (2 * (1 + k2)); [lra |].
    replace (1 / (2 * (1 + k2)) * square_of Z a * (2 * (1 + k2))) with (square_of Z a)
      by (field; lra). lra. }
  assert (N3 : 2 * gamma2 Z * (m ^ 2 / M) * be_of Z q <= 2 * c).
  { assert (gamma2 Z * (m ^ 2 / M * be_of Z q) <= gamma2 Z * squared Z u)
      by (apply Rmult_le_compat_l; lra). lra. }
  lra.
Qed.

(* --- the transfer to parameters *)
Lemma transfer : forall phi slope n outputs J mu theta c least,
  differentiable Z phi slope -> outputs_at Z n outputs J mu theta -> 0 <= mu ->
  let q := outputs theta in
  square_of Z (slope q) / 2 >= c * (phi q - least) ->
  pl_at Z n outputs J phi (slope q) (c * mu) least theta.
Proof.
  clear V. intros phi slope n outputs J mu theta c least D [HJ Co] Hmu q H. split.
  - intros p.
    assert (Cu : curve (fun s => outputs (along theta p s)) 0 (fun i => sum n (fun d => J d i * p d)))
      by (intros i; apply HJ).
    pose proof (D _ _ 0 Cu) as Q. cbv beta in Q. rewrite along_0 in Q. fold q in Q.
    assert (E : sum X (fun x => sum K (fun k => slope q x k *
        sum n (fun d => J d (pair K x k) * p d))) =
      sum n (fun d => in_theta Z J (slope q) d * p d)); [| rewrite <- E; exact Q].
    unfold in_theta.
    rewrite (sum2_ext X K _ (fun x k => sum n (fun d => p d * (J d (pair K x k) * slope q x k))))
      by (intros; rewrite <- sum_scal; apply sum_ext; intros; ring).
    rewrite (sum_ext X _ (fun x => sum n (fun d => sum K (fun k =>
      p d * (J d (pair K x k) * slope q x k))))) by (intros; apply sum_swap).
    rewrite sum_swap. apply sum_ext. intros d _. rewrite sum2_scal. ring.
  - pose proof (Co (slope q)) as Q.
    change (sum n (fun d => in_theta Z J (slope q) d ^ 2) >= mu * square_of Z (slope q)) in Q.
    fold q. assert (mu * (square_of Z (slope q) / 2) >= mu * (c * (phi q - least)))
      by (apply Rmult_ge_compat_l; lra). lra.
Qed.
End Proof.

Theorem lemma_24_holds : lemma_24.
Proof. intros Z phi slope n outputs J mu theta c least D O Hmu q H. apply transfer; auto. Qed.

Theorem lemma_25_holds : lemma_25.
Proof.
  intros Z V. split; [apply gamma2_pos; auto |]. intros q u.
  split; apply Rle_ge; [apply perp_above | apply all_above]; auto.
Qed.

Theorem lemma_8_holds : lemma_8.
Proof.
  intros Z m M n outputs J mu theta V HB O Hmu. apply transfer; auto.
  - apply be_differentiable; auto.
  - pose proof (be_pl Z V m M (outputs theta) HB). lra.
Qed.

Theorem lemma_9_holds : lemma_9.
Proof.
  intros Z lo hi m n outputs J mu ball theta least V Hm Hq Hb Hl O Hmu. apply transfer; auto.
  - apply nll_differentiable; auto.
  - pose proof (nll_pl Z V lo hi m (outputs theta) (Hq theta Hb) Hm) as P.
    assert (L : entropy_of Z <= least) by (apply Hl; intros; apply nll_above; auto).
    pose proof (p_low_pos Z V lo hi). destruct Hm as [Hm _].
    assert (0 <= p_low Z lo hi * m * (least - entropy_of Z))
      by (apply Rmult_le_pos; [apply Rmult_le_pos |]; lra). lra.
Qed.

Theorem c_par_is_finite_holds : c_par_is_finite.
Proof.
  intros Z V. exists (sqrt (INR (evaluated Z) * (INR (acts Z) * INR (rows Z)))). intros q u.
  rewrite pow2_sqrt by (repeat apply Rmult_le_pos; apply pos_INR).
  eapply Rle_trans; [apply par_below; auto |].
  replace (INR (evaluated Z) * (INR (acts Z) * INR (rows Z)) * squared Z u) with
    (sum (evaluated Z) (fun _ => sum (acts Z) (fun _ => INR (rows Z) * squared Z u)))
    by (rewrite !sum_const; ring).
  apply sum_le. intros x Hx. apply sum_le. intros k Hk. apply entry_below; auto.
Qed.

Theorem lemma_26_holds : lemma_26.
Proof. intros Z C m M q V HC HB. apply Rle_ge. apply no_cancellation; auto. Qed.

Theorem theorem_11_holds : theorem_11.
Proof.
  intros Z lo hi C m mb Mb n outputs J mu ball theta least V Hm HB Hq Hb HC Hl O Hmu.
  set (q := outputs theta) in *.
  pose proof (no_cancellation Z V C mb Mb q HC HB) as N.
  pose proof (nll_pl Z V lo hi m q (Hq theta Hb) Hm) as P.
  assert (L : entropy_of Z <= least).
  { apply Hl. intros t _. pose proof (nll_above Z V (outputs t)).
    pose proof (be_of_pos Z V (outputs t)). unfold risk_of. lra. }
  pose proof (p_low_pos Z V lo hi) as Hp. destruct Hm as [Hm _].
  pose proof (gamma2_pos Z V) as G. pose proof (be_of_pos Z V q) as B0.
  pose proof (nll_above Z V q) as N0.
  set (k2 := kappa2 Z C) in *.
  assert (k0 : 0 <= k2).
  { unfold k2, kappa2, Rdiv. apply Rmult_le_pos; [apply pow2_ge_0 |].
    left. apply Rinv_0_lt_compat. auto. }
  set (c1 := p_low Z lo hi * m / (4 * (1 + k2))). set (c2 := gamma2 Z * (mb ^ 2 / Mb)).
  assert (c10 : 0 < c1) by (unfold c1; apply Rdiv_lt_0_compat; [apply Rmult_lt_0_compat |]; lra).
  assert (c20 : 0 < c2).
  { destruct HB as [H1 [H2 _]]. apply Rmult_lt_0_compat; [auto |].
    apply Rdiv_lt_0_compat; [apply pow_lt; auto | lra]. }
  set (c := Rmin c1 c2). assert (M1 : c <= c1) by apply Rmin_l. assert (M2 : c <= c2) by apply Rmin_r.
  assert (c0 : 0 < c) by (apply Rmin_glb_lt; auto).
  split; [exact c0 |]. apply transfer; auto; [apply risk_differentiable; auto |]. fold q.
  assert (A1 : c1 * (nll_of Z q - entropy_of Z) <=
    1 / (2 * (1 + k2)) * square_of Z (nll_slope Z q) / 2).
  { apply Rmult_le_reg_r with (4 * (1 + k2)); [lra |].
    replace (c1 * (nll_of Z q - entropy_of Z) * (4 * (1 + k2)))
      with (p_low Z lo hi * m * (nll_of Z q - entropy_of Z)) by (unfold c1; field; lra).
    replace (1 / (2 * (1 + k2)) * square_of Z (nll_slope Z q) / 2 * (4 * (1 + k2)))
      with (square_of Z (nll_slope Z q)) by (field; lra). exact P. }
  assert (Q1 : c * (nll_of Z q - entropy_of Z) <= c1 * (nll_of Z q - entropy_of Z))
    by (apply Rmult_le_compat_r; lra).
  assert (Q2 : c * be_of Z q <= c2 * be_of Z q) by (apply Rmult_le_compat_r; lra).
  assert (Q3 : 0 <= c * (least - entropy_of Z)) by (apply Rmult_le_pos; lra).
  apply Rle_ge. unfold risk_of at 1. unfold c2 in Q2. lra.
Qed.

Theorem lemma_10_holds : lemma_10.
Proof.
  intros G n omega y beta m zeta J mu phi Hw Hm Hmu HJ Co F D. split.
  - intros p. unfold F.
    assert (E : sum n (fun d => D d * p d) = beta ^ 2 * sum G (fun i => omega i *
      (2 * (zeta phi i - y i) * (sum n (fun d => J d i * p d) - 0)))).
    { rewrite <- sum_scal. unfold D.
      rewrite (sum_ext n _ (fun d => sum G (fun i => p d *
        (J d i * (2 * beta ^ 2 * (omega i * (zeta phi i - y i)))))))
        by (intros; rewrite sum_scal; ring).
      rewrite sum_swap. apply sum_ext. intros i _.
      rewrite (sum_ext n _ (fun d => 2 * beta ^ 2 * (omega i * (zeta phi i - y i)) *
        (J d i * p d))) by (intros; ring). rewrite sum_scal. ring. }
    rewrite E. apply scaled_derivative.
    apply (sum_derivative G (fun s i => omega i * (zeta (along phi p s) i - y i) ^ 2)). intros i.
    apply scaled_derivative.
    pose proof (square_derivative (fun s => zeta (along phi p s) i - y i) 0
      (sum n (fun d => J d i * p d) - 0)) as Q. cbv beta in Q. rewrite along_0 in Q. apply Q.
    apply derivable_pt_lim_minus; [apply HJ | apply derivable_pt_lim_const].
  - pose proof (Co (fun i => 2 * beta ^ 2 * (omega i * (zeta phi i - y i)))) as Q.
    cbv beta in Q.
    set (T := sum G (fun i => (2 * beta ^ 2 * (omega i * (zeta phi i - y i))) ^ 2)) in *.
    change (sum n (fun d => D d ^ 2) >= mu * T) in Q.
    assert (A : 4 * beta ^ 2 * m * F phi <= T).
    { unfold F, T. rewrite <- !sum_scal. apply sum_le. intros i Hi. pose proof (Hw i Hi).
      pose proof (pow2_ge_0 (zeta phi i - y i)) as P. pose proof (pow2_ge_0 (beta ^ 2)) as B.
      set (e := (zeta phi i - y i) ^ 2) in *.
      replace ((2 * beta ^ 2 * (omega i * (zeta phi i - y i))) ^ 2)
        with (4 * (beta ^ 2) ^ 2 * (omega i * omega i * e)) by (unfold e; ring).
      replace (4 * beta ^ 2 * m * (beta ^ 2 * (omega i * e)))
        with (4 * (beta ^ 2) ^ 2 * (m * omega i * e)) by ring.
      apply Rmult_le_compat_l; [lra |]. apply Rmult_le_compat_r; [auto |]. nra. }
    assert (mu * (4 * beta ^ 2 * m * F phi) <= mu * T) by (apply Rmult_le_compat_l; auto). lra.
Qed.

Print Assumptions lemma_24_holds.
Print Assumptions lemma_25_holds.
Print Assumptions lemma_8_holds.
Print Assumptions lemma_9_holds.
Print Assumptions c_par_is_finite_holds.
Print Assumptions lemma_26_holds.
Print Assumptions theorem_11_holds.
Print Assumptions lemma_10_holds.
