(* The constant of Theorem 4 of corrected.md is positive at every level, under (S) and (F). So PL holds
   on every sublevel set of the paper's profile. *)
Require Import Reals Lra Lia Psatz FunctionalExtensionality.
Require Import vectors two_time_scales softmax risk gradient pl smoothness alpha.
Open Scope R_scope.

(* --- statements *)
Definition constants_are_positive := forall D Delta m,
  counts D -> condition_S D -> condition_F D -> 0 <= Delta ->
  (forall x k, (x < states D)%nat -> (k < actions D)%nat -> 0 < m (pair (actions D) x k)) ->
  exists alpha c, factor D alpha /\ 0 < c /\ pl_constant D alpha m Delta c.

(* In the metric 1, that of the paper: *)
Definition pl_on_sublevel_sets := forall D Delta,
  counts D -> condition_S D -> condition_F D -> 0 <= Delta ->
  exists c, 0 < c /\ forall q, g D q - entropy D <= Delta ->
  size D constant_one (slope_g D q) / 2 >= c * (g D q - entropy D).

(* --- the least of finitely many *)
Fixpoint minimum (n : nat) (x : vector) : R :=
  match n with O => 1 | S k => Rmin (minimum k x) (x k) end.

Lemma minimum_pos : forall n x, (forall i, (i < n)%nat -> 0 < x i) -> 0 < minimum n x.
Proof. induction n; intros; simpl; [lra |]. apply Rmin_glb_lt; auto. Qed.

Lemma minimum_le : forall n x i, (i < n)%nat -> minimum n x <= x i.
Proof.
  induction n; intros x i H; [lia |]. simpl. destruct (Nat.eq_dec i n) as [E | E].
  - subst. apply Rmin_r.
  - eapply Rle_trans; [apply Rmin_l | apply IHn; lia].
Qed.

Section Proof.
Variable D : data.
Local Notation X := (states D).
Local Notation K := (actions D).
Hypothesis C : counts D.
Hypothesis S : condition_S D.
Hypothesis F : condition_F D.

Lemma all_seen : forall x, (x < X)%nat -> seen D x.
Proof.
  intros x Hx. split; [auto |]. intros a Ha. unfold frequency.
  apply Rdiv_lt_0_compat; [apply F; auto | apply visits_pos; auto].
Qed.

(* --- a factor in closed form: T = 1 + 2 delta / lambda *)
Definition lambda (x : nat) := minimum K (frequency D x).
Definition closed_factor (x : nat) (delta : R) :=
  let T := 1 + 2 * delta / lambda x in lambda x * ((1 - exp (- T)) / (2 * T)).

Lemma lambda_pos : forall x, (x < X)%nat -> 0 < lambda x.
Proof. intros x Hx. apply minimum_pos. apply all_seen. auto. Qed.

Lemma T_pos : forall x delta, (x < X)%nat -> 0 <= delta -> 1 <= 1 + 2 * delta / lambda x.
Proof.
  intros x delta Hx Hd. pose proof (lambda_pos x Hx).
  assert (0 <= 2 * delta / lambda x).
  { unfold Rdiv. apply Rmult_le_pos; [lra | left; apply Rinv_0_lt_compat; auto]. }
  lra.
Qed.

Lemma closed_factor_holds : factor D closed_factor.
Proof.
  intros x delta Hx Hd. pose proof (lambda_pos x Hx) as L. pose proof (T_pos x delta Hx Hd) as HT.
  unfold closed_factor. set (T := 1 + 2 * delta / lambda x) in *. split.
  - apply Rmult_lt_0_compat; [auto |]. apply Rdiv_lt_0_compat; [| lra].
    assert (exp (- T) < exp 0) by (apply exp_increasing; lra). rewrite exp_0 in H. lra.
  - apply (factor_holds D x (lambda x) delta T); auto using all_seen; [| lra |].
    + destruct (lambda_is_positive_holds D x C S (all_seen x Hx)) as [H _].
      apply H; [lra |]. intros. apply minimum_le. auto.
    + pose proof (exp_pos (- T)). unfold T in *. lra.
Qed.

Lemma closed_factor_falls : forall x d e, (x < X)%nat -> 0 <= d -> d <= e ->
  closed_factor x e <= closed_factor x d.
Proof.
  intros x d e Hx Hd He. pose proof (lambda_pos x Hx) as L. pose proof (T_pos x d Hx Hd) as H1.
  unfold closed_factor. set (s := 1 + 2 * d / lambda x) in *. set (T := 1 + 2 * e / lambda x).
  assert (ST : s <= T).
  { unfold s, T, Rdiv. apply Rplus_le_compat_l. apply Rmult_le_compat_r;
      [left; apply Rinv_0_lt_compat; auto | lra]. }
  apply Rmult_le_compat_l; [lra |]. pose proof (ratio_falls s T ltac:(lra) ST) as R.
  apply Rmult_le_reg_r with (2 * s * T); [nra |].
  replace ((1 - exp (- T)) / (2 * T) * (2 * s * T)) with (s * (1 - exp (- T))) by (field; lra).
  replace ((1 - exp (- s)) / (2 * s) * (2 * s * T)) with (T * (1 - exp (- s))) by (field; lra).
  exact R.
Qed.

(* --- G' is injective: y is bounded by G'y *)
Variables (q : vector) (u : nat -> nat -> R) (eps : vector).
Hypothesis U : forall x, (x < X)%nat -> sum K (u x) = 0.
Let t := pull D q u eps.
Definition total_abs (s : nat -> nat -> R) := sum X (fun x => sum K (fun k => Rabs (s x k))).
Let E1 := sum X (fun x => Rabs (eps x)).

Lemma beta_in : 0 <= beta D < 1.
Proof. apply C. Qed.

Lemma moved : forall c, (forall j, (j < X)%nat -> 0 <= c j) ->
  sum X (fun x => sum X (fun j => c j * P D j x)) = sum X c.
Proof.
  intros c Hc. rewrite sum_swap. apply sum_ext. intros j Hj. rewrite sum_scal, P_sum by auto. ring.
Qed.

Lemma eps_below : (1 - beta D) * E1 <= total_abs t.
Proof.
  pose proof beta_in as B.
  assert (H : E1 <= sum X (fun x => Rabs (sum K (t x)) +
    beta D * sum X (fun j => Rabs (eps j) * P D j x))).
  { apply sum_le. intros x Hx.
    assert (E : sum K (t x) = beta D * sum X (fun j => eps j * P D j x) - eps x).
    { unfold t, pull.
      rewrite (sum_ext K _ (fun k => u x k + (beta D * sum X (fun j => eps j * P D j x) *
        choice K q x k + - (one k (anchor D x) * eps x)))) by (intros; ring).
      rewrite !sum_plus, sum_scal, choice_sum, U by (auto; apply actions_pos; auto).
      rewrite (sum_ext K (fun k => - _) (fun k => one k (anchor D x) * - eps x)) by (intros; ring).
      rewrite sum_one by (apply anchor_in; auto). ring. }
    assert (A : Rabs (sum X (fun j => eps j * P D j x)) <=
      sum X (fun j => Rabs (eps j) * P D j x)).
    { eapply Rle_trans; [apply sum_abs |]. right. apply sum_ext. intros j Hj.
      rewrite Rabs_mult, (Rabs_pos_eq (P D j x)); [auto | apply P_nonneg; auto]. }
    replace (eps x) with (beta D * sum X (fun j => eps j * P D j x) + - sum K (t x)) by lra.
    eapply Rle_trans; [apply Rabs_triang |]. rewrite Rabs_Ropp, Rabs_mult, (Rabs_pos_eq (beta D))
      by lra.
    assert (beta D * Rabs (sum X (fun j => eps j * P D j x)) <=
      beta D * sum X (fun j => Rabs (eps j) * P D j x)) by (apply Rmult_le_compat_l; lra). lra. }
  rewrite sum_plus, sum_scal, moved in H by (intros; apply Rabs_pos). fold E1 in H.
  assert (sum X (fun x => Rabs (sum K (t x))) <= total_abs t)
    by (apply sum_le; intros; apply sum_abs).
  lra.
Qed.

Lemma u_below : (1 - beta D) * total_abs u <= 2 * total_abs t.
Proof.
  pose proof beta_in as B. pose proof eps_below as HE.
  assert (E0 : 0 <= E1) by apply sum_abs_pos.
  assert (H : total_abs u <= total_abs t + (beta D * E1 + E1)).
  { unfold total_abs.
    apply Rle_trans with (sum X (fun x => sum K (fun k => Rabs (t x k) +
      (beta D * sum X (fun j => Rabs (eps j) * P D j x) * choice K q x k +
       one k (anchor D x) * Rabs (eps x))))).
    - apply sum_le. intros x Hx. apply sum_le. intros k Hk.
      set (z := sum X (fun j => eps j * P D j x)).
      assert (A : Rabs z <= sum X (fun j => Rabs (eps j) * P D j x)).
      { eapply Rle_trans; [apply sum_abs |]. right. apply sum_ext. intros j Hj.
        rewrite Rabs_mult, (Rabs_pos_eq (P D j x)); [auto | apply P_nonneg; auto]. }
      replace (u x k) with (t x k + (- (beta D * z * choice K q x k) +
        one k (anchor D x) * eps x)) by (unfold t, pull, z; ring).
      eapply Rle_trans; [apply Rabs_triang |]. apply Rplus_le_compat_l.
      eapply Rle_trans; [apply Rabs_triang |]. apply Rplus_le_compat.
      + rewrite Rabs_Ropp, !Rabs_mult, (Rabs_pos_eq (beta D)) by lra.
        pose proof (choice_pos K q x k (actions_pos D C)) as Cp.
        rewrite (Rabs_pos_eq (choice K q x k)) by lra.
        apply Rmult_le_compat_r; [lra |]. apply Rmult_le_compat_l; lra.
      + rewrite Rabs_mult. right. f_equal. unfold one. destruct (Nat.eqb k (anchor D x));
          rewrite Rabs_pos_eq; lra.
    - right. rewrite !sum2_plus. f_equal. f_equal.
      + rewrite (sum_ext X _ (fun x => beta D * sum X (fun j => Rabs (eps j) * P D j x))).
        * rewrite sum_scal, moved; [auto | intros; apply Rabs_pos].
        * intros x _. rewrite sum_scal, choice_sum; [ring | apply actions_pos; auto].
      + apply sum_ext. intros x Hx. apply (sum_one K (anchor D x) (fun _ => Rabs (eps x))).
        apply anchor_in; auto. }
  assert ((1 - beta D) * total_abs u <= (1 - beta D) * (total_abs t + (beta D * E1 + E1)))
    by (apply Rmult_le_compat_l; lra).
  assert (0 <= total_abs t) by (apply sum_pos; intros; apply sum_abs_pos).
  nra.
Qed.

Lemma size_above : forall m,
  (forall x k, (x < X)%nat -> (k < K)%nat -> 0 < m (pair K x k)) -> forall s,
  total_abs s ^ 2 <= size D m s * sum X (fun x => sum K (fun k => m (pair K x k))).
Proof.
  intros m Hm s.
  assert (Hi : forall i, (i < X * K)%nat -> 0 < m i).
  { intros i Hi. assert (HK := actions_pos D C).
    replace i with (pair K (i / K) (i mod K)).
    - apply Hm; [apply Nat.div_lt_upper_bound; lia | apply Nat.mod_upper_bound; lia].
    - unfold pair. rewrite Nat.mul_comm. symmetry. apply Nat.div_mod. lia. }
  set (a := table K (fun x k => Rabs (s x k))).
  pose proof (cauchy_sum (X * K) m (fun i => a i / m i) (fun _ => 1)
    (fun i H => Rlt_le _ _ (Hi i H))) as Q. cbv beta in Q.
  rewrite (sum_ext (X * K) (fun i => m i * (a i / m i) * 1) a) in Q
    by (intros i H; pose proof (Hi i H); field; lra).
  rewrite (sum_ext (X * K) (fun i => m i * 1 ^ 2) m) in Q by (intros; ring).
  rewrite (sum_ext (X * K) (fun i => m i * (a i / m i) ^ 2) (fun i => a i ^ 2 / m i)) in Q
    by (intros i H; pose proof (Hi i H); field; lra).
  rewrite !sum_pairs in Q.
  replace (total_abs s) with (sum X (fun x => sum K (fun k => a (pair K x k))))
    by (apply sum2_ext; intros; apply table_pair; auto).
  replace (size D m s) with (sum X (fun x => sum K (fun k => a (pair K x k) ^ 2 / m (pair K x k))));
    [exact Q |].
  apply sum2_ext. intros x k Hx Hk. unfold a. rewrite table_pair by auto. f_equal.
  rewrite <- !Rsqr_pow2. symmetry. apply Rsqr_abs.
Qed.
End Proof.

Theorem constants_are_positive_holds : constants_are_positive.
Proof.
  intros D Delta m C S F HD Hm. set (X := states D). set (K := actions D).
  pose proof (beta_in D C) as B. destruct C as [C1 [X0 C2]].
  assert (C : counts D) by (split; auto).
  pose proof (actions_pos D C) as HK.
  set (at_ := fun x => w D x * closed_factor D x (Delta / w D x)).
  assert (Dw : forall x, (x < X)%nat -> 0 <= Delta / w D x).
  { intros x Hx. pose proof (w_pos D C S x Hx). unfold Rdiv.
    apply Rmult_le_pos; [auto | left; apply Rinv_0_lt_compat; auto]. }
  assert (Ap : forall x, (x < X)%nat -> 0 < at_ x).
  { intros x Hx. apply Rmult_lt_0_compat; [apply w_pos; auto |].
    apply (closed_factor_holds D C S F x (Delta / w D x)); auto. }
  set (A := sum X (fun x => / at_ x)). set (Bb := sum X (fun x => / (2 * b D x))).
  set (M := sum X (fun x => sum K (fun k => m (pair K x k)))).
  assert (A0 : 0 < A).
  { eapply Rlt_le_trans; [apply (Rinv_0_lt_compat _ (Ap O X0)) |].
    apply (sum_term X (fun x => / at_ x)); [| auto].
    intros i Hi. left. apply Rinv_0_lt_compat. auto. }
  assert (B0 : 0 <= Bb).
  { apply sum_pos. intros x Hx. pose proof (b_pos D C S x Hx). left. apply Rinv_0_lt_compat. lra. }
  assert (M0 : 0 < M).
  { eapply Rlt_le_trans; [apply (Hm O O X0 HK) |].
    eapply Rle_trans; [| apply (sum_term X (fun x => sum K (fun k => m (pair K x k))) O); auto].
    - apply (sum_term K (fun k => m (pair K O k))); [intros; left; apply Hm; auto | auto].
    - intros. apply sum_pos. intros. left. apply Hm; auto. }
  set (c := (1 - beta D) ^ 2 / (M * (4 * A + Bb))).
  assert (C0 : 0 < c).
  { apply Rdiv_lt_0_compat; [apply pow_lt; lra | apply Rmult_lt_0_compat; lra]. }
  exists (closed_factor D), c. split; [apply closed_factor_holds; auto |]. split; [auto |].
  intros s Sp S1 slack Hs. exists (fun _ => 0). split; [intros; lra |].
  intros q Hq u eps U. fold X.
  rewrite (sum_ext X (fun x => s x * 0) (fun _ => 0)), sum_const by (intros; ring).
  set (t := pull D q u eps). set (T1 := total_abs D t).
  assert (T0 : 0 <= T1) by (apply sum_pos; intros; apply sum_abs_pos).
  pose proof (u_below D C S q u eps U) as Ub. fold t T1 in Ub.
  pose proof (eps_below D C S q u eps U) as Eb. fold t T1 in Eb. cbv zeta in Eb. fold X in Eb.
  set (E1 := sum X (fun x => Rabs (eps x))) in *. set (U1 := total_abs D u) in *.
  assert (E0 : 0 <= E1) by apply sum_abs_pos.
  assert (U0 : 0 <= U1) by (apply sum_pos; intros; apply sum_abs_pos).
  pose proof (size_above D C m Hm t) as Sz. fold X K M T1 in Sz.
  set (Y := weighed D (closed_factor D) Delta s (fun _ => 0) u eps).
  assert (W1 : Y <= A * U1 ^ 2 + Bb * E1 ^ 2).
  { unfold Y, weighed. fold X K. apply Rplus_le_compat.
    - unfold A. rewrite Rmult_comm, <- sum_scal. apply sum_le. intros x Hx.
      pose proof (w_pos D C S x Hx) as Wx. pose proof (Ap x Hx) as Ax.
      assert (Sx : 0 <= s x * Delta / w D x <= Delta / w D x).
      { assert (s x <= 1) by (eapply Rle_trans; [apply (sum_term X s x Sp Hx) | auto]).
        pose proof (Sp x Hx). pose proof (Dw x Hx).
        replace (s x * Delta / w D x) with (s x * (Delta / w D x)) by (field; lra). nra. }
      assert (Fa : at_ x <= w D x * closed_factor D x (s x * Delta / w D x)).
      { apply Rmult_le_compat_l; [lra |]. apply closed_factor_falls; auto; apply Sx. }
      assert (Sq : sum K (fun k => u x k ^ 2) <= U1 ^ 2).
      { eapply Rle_trans; [apply sum_squares |]. apply pow_incr. split; [apply sum_abs_pos |].
        apply (sum_term X (fun x => sum K (fun k => Rabs (u x k)))); auto.
        intros. apply sum_abs_pos. }
      rewrite Rmult_comm. replace ((1 + 0) / (w D x * closed_factor D x (s x * Delta / w D x)))
        with (/ (w D x * closed_factor D x (s x * Delta / w D x))) by (unfold Rdiv; ring).
      apply Rmult_le_compat; auto.
      + apply sum_pos. intros. apply pow2_ge_0.
      + left. apply Rinv_0_lt_compat. lra.
      + apply Rinv_le_contravar; auto.
    - unfold Bb. rewrite Rmult_comm, <- sum_scal. apply sum_le. intros x Hx.
      pose proof (b_pos D C S x Hx). unfold Rdiv. apply Rmult_le_compat_r;
        [left; apply Rinv_0_lt_compat; lra |].
      replace (eps x ^ 2) with (Rabs (eps x) ^ 2) by (rewrite <- !Rsqr_pow2; symmetry; apply Rsqr_abs).
      apply pow_incr. split; [apply Rabs_pos |].
      apply (sum_term X (fun x => Rabs (eps x))); [intros; apply Rabs_pos | auto]. }
  assert (Y0 : 0 <= Y).
  { unfold Y, weighed. fold X K. apply Rplus_le_le_0_compat; apply sum_pos; intros x Hx.
    - pose proof (w_pos D C S x Hx). apply Rmult_le_pos; [| apply sum_pos; intros; apply pow2_ge_0].
      assert (0 <= s x * Delta / w D x).
      { pose proof (Sp x Hx). pose proof (Dw x Hx).
        replace (s x * Delta / w D x) with (s x * (Delta / w D x)) by (field; lra). nra. }
      destruct (closed_factor_holds D C S F x (s x * Delta / w D x) Hx H0) as [Fp _].
      unfold Rdiv. apply Rmult_le_pos; [lra |]. left. apply Rinv_0_lt_compat.
      apply Rmult_lt_0_compat; auto.
    - pose proof (b_pos D C S x Hx). unfold Rdiv. apply Rmult_le_pos; [apply pow2_ge_0 |].
      left. apply Rinv_0_lt_compat. lra. }
  assert (W2 : (1 - beta D) ^ 2 * Y <= (4 * A + Bb) * T1 ^ 2).
  { assert (Q1 : ((1 - beta D) * U1) ^ 2 <= (2 * T1) ^ 2).
    { apply pow_incr. split; [apply Rmult_le_pos; lra | auto]. }
    assert (Q2 : ((1 - beta D) * E1) ^ 2 <= T1 ^ 2).
    { apply pow_incr. split; [apply Rmult_le_pos; lra | auto]. }
    apply Rle_trans with ((1 - beta D) ^ 2 * (A * U1 ^ 2 + Bb * E1 ^ 2)).
    - apply Rmult_le_compat_l; [apply pow2_ge_0 | auto].
    - replace ((1 - beta D) ^ 2 * (A * U1 ^ 2 + Bb * E1 ^ 2)) with
        (A * ((1 - beta D) * U1) ^ 2 + Bb * ((1 - beta D) * E1) ^ 2) by ring.
      assert (A * ((1 - beta D) * U1) ^ 2 <= A * (2 * T1) ^ 2)
        by (apply Rmult_le_compat_l; lra).
      assert (Bb * ((1 - beta D) * E1) ^ 2 <= Bb * T1 ^ 2)
        by (apply Rmult_le_compat_l; lra). lra. }
  assert (Fin : c * Y <= size D m t).
  { apply Rmult_le_reg_r with (M * (4 * A + Bb)); [apply Rmult_lt_0_compat; lra |].
    replace (c * Y * (M * (4 * A + Bb))) with ((1 - beta D) ^ 2 * Y) by (unfold c; field; lra).
    eapply Rle_trans; [exact W2 |].
    replace (size D m t * (M * (4 * A + Bb))) with ((4 * A + Bb) * (size D m t * M)) by ring.
    apply Rmult_le_compat_l; lra. }
  assert ((c - slack) * Y <= c * Y) by nra. lra.
Qed.

Theorem pl_on_sublevel_sets_holds : pl_on_sublevel_sets.
Proof.
  intros D Delta C S F HD.
  assert (M : forall x k, (x < states D)%nat -> (k < actions D)%nat ->
    0 < constant_one (pair (actions D) x k)) by (intros; unfold constant_one; lra).
  destruct (constants_are_positive_holds D Delta constant_one C S F HD M) as [alpha [c [A [C0 H]]]].
  exists c. split; [auto |]. intros q Hq.
  apply (pl_of_tables_holds D alpha constant_one Delta c); auto.
Qed.

Print Assumptions constants_are_positive_holds.
Print Assumptions pl_on_sublevel_sets_holds.
