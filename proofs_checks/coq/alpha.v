(* Theorem 3 of corrected.md: the factor alpha. The squared distance of choices from the frequencies
   is at least a multiple of KL, which falls like 1 / delta where KL <= delta. *)
Require Import Reals Lra Lia Psatz FunctionalExtensionality.
Require Import vectors two_time_scales softmax risk gradient pl smoothness.
Open Scope R_scope.

(* --- statements *)

(* lambda is at most Var_pi(v) / |v|^2 for all v with sum zero, pi the frequencies in x *)
Definition least_variance (D : data) (x : nat) (lambda : R) := forall v : vector,
  sum (actions D) v = 0 ->
  lambda * sum (actions D) (fun k => v k ^ 2) <=
  sum (actions D) (fun k => frequency D x k * v k ^ 2) -
  sum (actions D) (fun k => frequency D x k * v k) ^ 2.
Definition seen (D : data) (x : nat) := (x < states D)%nat /\
  forall a, (a < actions D)%nat -> 0 < frequency D x a.
Definition root (T t : R) := 0 < T /\ exp (- T) - 1 + T = t.

Definition theorem_3 := forall D x lambda delta, counts D -> condition_S D -> seen D x ->
  0 < lambda -> least_variance D x lambda -> 0 < delta ->
  (exists T, root T (2 * delta / lambda)) /\
  forall T, root T (2 * delta / lambda) -> T <= 1 + 2 * delta / lambda /\
  forall q, kl D q x <= delta -> 2 * (lambda * ((1 - exp (- T)) / (2 * T))) * kl D q x <=
    sum (actions D) (fun k => (choice (actions D) q x k - frequency D x k) ^ 2).

(* The least frequency will do for lambda; for two actions it is 2 pi (1 - pi) exactly. *)
Definition lambda_is_positive := forall D x, counts D -> condition_S D -> seen D x ->
  (forall p, 0 <= p -> (forall a, (a < actions D)%nat -> p <= frequency D x a) ->
    least_variance D x p) /\
  (actions D = 2%nat -> forall v : vector, sum 2 v = 0 ->
    2 * frequency D x O * (1 - frequency D x O) * sum 2 (fun k => v k ^ 2) =
    sum 2 (fun k => frequency D x k * v k ^ 2) - sum 2 (fun k => frequency D x k * v k) ^ 2).

(* --- one variable *)
Lemma increasing : forall F F' a c, (forall t, a <= t -> derivable_pt_lim F t (F' t)) ->
  (forall t, a <= t -> 0 <= F' t) -> a <= c -> F a <= F c.
Proof.
  intros F F' a c H P Hc. destruct (Req_dec a c) as [E | E]; [rewrite E; lra |].
  destruct (MVT_cor2 F F' a c ltac:(lra)) as [x [Ex Hx]]; [intros; apply H; lra |].
  pose proof (P x ltac:(lra)). nra.
Qed.

Lemma linear : forall c t, derivable_pt_lim (fun t => c * t) t c.
Proof.
  intros. pose proof (scaled_derivative c id t 1 (derivable_pt_lim_id t)) as D.
  rewrite Rmult_1_r in D. exact D.
Qed.

Lemma exp_scaled : forall s t, derivable_pt_lim (fun t => exp (s * t)) t (s * exp (s * t)).
Proof.
  intros s t. rewrite Rmult_comm.
  apply (derivable_pt_lim_comp (fun t => s * t) exp); [apply linear | apply derivable_pt_lim_exp].
Qed.

Lemma affine : forall a c t, derivable_pt_lim (fun t => a + c * t) t c.
Proof.
  intros. pose proof (derivable_pt_lim_plus (fun _ => a) (fun t => c * t) t 0 c
    (derivable_pt_lim_const a t) (linear c t)) as D. rewrite Rplus_0_l in D. exact D.
Qed.

(* exp (- T) - 1 + T rises, (1 - exp (- T)) / T falls *)
Lemma curve_strict : forall T s, 0 < T -> T < s -> exp (- T) - 1 + T < exp (- s) - 1 + s.
Proof.
  intros T s HT Hs. pose proof (exp_ineq1 (T - s) ltac:(lra)) as I.
  assert (E : exp (- s) = exp (T - s) * exp (- T))
    by (rewrite <- exp_plus; f_equal; ring).
  assert (P : exp (- T) < 1) by (rewrite <- exp_0; apply exp_increasing; lra).
  pose proof (exp_pos (- T)). rewrite E. nra.
Qed.

Lemma ratio_falls : forall s T, 0 < s -> s <= T -> s * (1 - exp (- T)) <= T * (1 - exp (- s)).
Proof.
  intros s T Hs HT.
  pose proof (increasing (fun t => (- s + (1 - exp (- s)) * t) + s * exp (-1 * t))
    (fun t => (1 - exp (- s)) + s * (-1 * exp (-1 * t))) s T) as H.
  replace (- T) with (-1 * T) by ring.
  assert (E0 : exp (-1 * s) = exp (- s)) by (f_equal; ring).
  cut (- s + (1 - exp (- s)) * s + s * exp (-1 * s) <=
    - s + (1 - exp (- s)) * T + s * exp (-1 * T)); [rewrite E0; lra |]. apply H; auto.
  - intros t _. apply derivable_pt_lim_plus; [apply affine |].
    apply scaled_derivative. apply exp_scaled.
  - intros t Ht. assert (A : exp (-1 * t) <= exp (- s)).
    { destruct (Req_dec t s) as [Z | Z]; [subst t; rewrite E0; lra |].
      left. apply exp_increasing. lra. }
    pose proof (exp_ineq1_le s) as I. pose proof (exp_pos (- s)) as P.
    assert (B : exp s * exp (- s) = 1) by (rewrite <- exp_plus, Rplus_opp_r; apply exp_0).
    nra.
Qed.

(* --- along a line from the frequencies *)
Section Line.
Variable D : data.
Local Notation X := (states D).
Local Notation K := (actions D).
Hypothesis C : counts D.
Hypothesis S : condition_S D.
Variable x : nat.
Hypothesis Seen : seen D x.
Variable q : vector.

Let pi := frequency D x.
Let q0 : vector := table K (fun x k => ln (frequency D x k)).
Let v : vector := less q q0.
Let at_ (t : R) := along q0 v t.
Let p (t : R) (k : nat) := choice K (at_ t) x k.
Let vk (k : nat) := v (pair K x k).
Let m (t : R) := average D (at_ t) v x.
Let var (t : R) := covariance D (at_ t) v v x.
Let third (t : R) := sum K (fun k => p t k * (vk k - m t) ^ 3).
Let f (t : R) := kl D (at_ t) x.

Lemma at_line : forall t, curve at_ t v.
Proof. intros. apply line. Qed.

Lemma p_pos : forall t k, 0 < p t k.
Proof. intros. apply choice_pos. apply actions_pos; auto. Qed.

Lemma p_sum : forall t, sum K (p t) = 1.
Proof. intros. apply (choice_sum K (at_ t) x). apply actions_pos; auto. Qed.

Lemma at_0 : forall k, (k < K)%nat -> p 0 k = pi k.
Proof.
  intros k Hk. destruct Seen as [Hx F]. unfold p, at_. rewrite along_0. unfold choice, total, q0.
  rewrite (sum_ext K _ pi).
  - rewrite table_pair, exp_ln by auto. unfold pi. rewrite frequency_sum by auto. field.
  - intros j Hj. rewrite table_pair, exp_ln by auto. reflexivity.
Qed.

Lemma at_1 : at_ 1 = q.
Proof.
  unfold at_, v, along, less. apply functional_extensionality. intros. ring.
Qed.

Lemma m_is : forall t, m t = sum K (fun k => p t k * vk k).
Proof. reflexivity. Qed.

Lemma var_is : forall t, var t = sum K (fun k => p t k * (vk k - m t) ^ 2).
Proof. intros. unfold var, covariance. apply sum_ext. intros. unfold p, vk, m. ring. Qed.

Lemma var_pos : forall t, 0 <= var t.
Proof.
  intros. rewrite var_is. apply sum_pos. intros.
  apply Rmult_le_pos; [left; apply p_pos | apply pow2_ge_0].
Qed.

Lemma centred_sum : forall t, sum K (fun k => p t k * (vk k - m t)) = 0.
Proof.
  intros t. rewrite (sum_ext K _ (fun k => p t k * vk k + - m t * p t k)) by (intros; ring).
  rewrite sum_plus, sum_scal, p_sum, <- m_is. ring.
Qed.

Lemma m_derivative : forall t, derivable_pt_lim m t (var t).
Proof. intros t. apply (average_curve D C at_ v t v x (at_line t)). Qed.

Lemma p_derivative : forall t k, derivable_pt_lim (fun t => p t k) t (p t k * (vk k - m t)).
Proof. intros t k. apply (choice_curve D C at_ v t x k (at_line t)). Qed.

Lemma var_derivative : forall t, derivable_pt_lim var t (third t).
Proof.
  intros t.
  assert (E : var = (fun t => sum K (fun k => p t k * (vk k - m t) ^ 2)))
    by (apply functional_extensionality; apply var_is).
  rewrite E.
  assert (T : third t = sum K (fun k => p t k * (vk k - m t) * (vk k - m t) ^ 2 +
    p t k * (2 * (vk k - m t) * (0 - var t)))).
  { rewrite (sum_ext K _ (fun k => p t k * (vk k - m t) ^ 3 +
      -2 * var t * (p t k * (vk k - m t)))) by (intros; ring).
    rewrite sum_plus, sum_scal, centred_sum. unfold third. ring. }
  rewrite T. apply (sum_derivative K (fun t k => p t k * (vk k - m t) ^ 2)). intros k.
  apply (derivable_pt_lim_mult (fun t => p t k) (fun t => (vk k - m t) ^ 2));
    [apply p_derivative |].
  apply (square_derivative (fun t => vk k - m t)).
  apply (derivable_pt_lim_minus (fun _ => vk k) m); [apply derivable_pt_lim_const |].
  apply m_derivative.
Qed.

Lemma f_derivative : forall t, derivable_pt_lim f t (m t - m 0).
Proof.
  intros t. pose proof (actions_pos D C) as HK. destruct Seen as [Hx _].
  assert (E : f = (fun t => sum K (fun k => pi k * (ln (pi k) - ln (p t k))))) by reflexivity.
  rewrite E.
  assert (T : m t - m 0 = sum K (fun k => pi k * (0 - (vk k - m t)))).
  { rewrite (sum_ext K (fun k => pi k * _) (fun k => m t * pi k + -1 * (p 0 k * vk k)))
      by (intros k Hk; rewrite at_0 by auto; ring).
    rewrite sum_plus, !sum_scal, <- m_is. unfold pi. rewrite frequency_sum by auto. ring. }
  rewrite T. apply (sum_derivative K (fun t k => pi k * (ln (pi k) - ln (p t k)))). intros k.
  apply scaled_derivative.
  apply (derivable_pt_lim_minus (fun _ => ln (pi k)) (fun t => ln (p t k)));
    [apply derivable_pt_lim_const |].
  assert (F : (fun t => ln (p t k)) = (fun t => at_ t (pair K x k) - value K (at_ t) x)).
  { apply functional_extensionality. intros. apply log_choice. auto. }
  rewrite F. apply derivable_pt_lim_minus; [apply at_line | apply value_curve; auto using at_line].
Qed.

(* s bounds the span of v *)
Variable s : R.
Hypothesis Hs : 0 < s.
Hypothesis Span : forall k l, (k < K)%nat -> (l < K)%nat -> vk k - vk l <= s.

Lemma third_below : forall t, - (s * var t) <= third t.
Proof.
  intros t. rewrite var_is. unfold third.
  replace (- (s * sum K (fun k => p t k * (vk k - m t) ^ 2)))
    with (- s * sum K (fun k => p t k * (vk k - m t) ^ 2)) by ring.
  rewrite <- sum_scal. apply sum_le. intros k Hk.
  assert (B : - s <= vk k - m t).
  { assert (G : sum K (fun l => p t l * (vk l - vk k)) <= sum K (fun l => s * p t l)).
    { apply sum_le. intros l Hl. pose proof (Span l k Hl Hk). pose proof (p_pos t l). nra. }
    rewrite (sum_ext K (fun l => p t l * (vk l - vk k)) (fun l => p t l * vk l + - vk k * p t l))
      in G by (intros; ring).
    rewrite sum_plus, !sum_scal, p_sum, <- m_is in G. lra. }
  pose proof (p_pos t k). pose proof (pow2_ge_0 (vk k - m t)).
  assert (0 <= p t k * (vk k - m t) ^ 2 * (vk k - m t + s)); [| lra].
  apply Rmult_le_pos; [apply Rmult_le_pos |]; lra.
Qed.

Lemma var_below : forall t, 0 <= t -> var 0 * exp (- s * t) <= var t.
Proof.
  intros t Ht.
  pose proof (increasing (fun t => exp (s * t) * var t)
    (fun t => s * exp (s * t) * var t + exp (s * t) * third t) 0 t) as H.
  assert (I : exp (s * 0) * var 0 <= exp (s * t) * var t).
  { apply H; auto.
    - intros u _. apply (derivable_pt_lim_mult (fun t => exp (s * t)) var);
        [apply exp_scaled | apply var_derivative].
    - intros u _. pose proof (third_below u). pose proof (exp_pos (s * u)). nra. }
  rewrite Rmult_0_r, exp_0, Rmult_1_l in I. pose proof (exp_pos (- s * t)) as P.
  assert (B : exp (s * t) * exp (- s * t) = 1)
    by (rewrite <- exp_plus; replace (s * t + - s * t) with 0 by ring; apply exp_0).
  apply Rle_trans with (exp (s * t) * var t * exp (- s * t)); [apply Rmult_le_compat_r; lra |].
  right. replace (exp (s * t) * var t * exp (- s * t))
    with ((exp (s * t) * exp (- s * t)) * var t) by ring. rewrite B. ring.
Qed.

Lemma slope_below : forall t, 0 <= t -> var 0 * (1 - exp (- s * t)) / s <= m t - m 0.
Proof.
  intros t Ht.
  pose proof (increasing (fun t => m t + (var 0 / s) * exp (- s * t))
    (fun t => var t + (var 0 / s) * (- s * exp (- s * t))) 0 t) as H.
  assert (I : m 0 + (var 0 / s) * exp (- s * 0) <= m t + (var 0 / s) * exp (- s * t)).
  { apply H; auto.
    - intros u _. apply derivable_pt_lim_plus; [apply m_derivative |].
      apply scaled_derivative. apply exp_scaled.
    - intros u Hu. pose proof (var_below u Hu).
      replace (var 0 / s * (- s * exp (- s * u))) with (- (var 0 * exp (- s * u)))
        by (field; lra). lra. }
  rewrite Rmult_0_r, exp_0 in I.
  replace (var 0 * (1 - exp (- s * t)) / s) with (var 0 / s - var 0 / s * exp (- s * t))
    by (field; lra). lra.
Qed.

Lemma f_0 : f 0 = 0.
Proof.
  unfold f, kl. rewrite (sum_ext K _ (fun _ => 0)), sum_const; [ring |]. intros k Hk.
  pose proof (at_0 k Hk) as E. unfold p, pi in E. rewrite E. ring.
Qed.

Lemma kl_below : var 0 * (exp (- s) - 1 + s) / s ^ 2 <= kl D q x.
Proof.
  pose proof (increasing (fun t => f t + (- (var 0 / s ^ 2) * exp (- s * t) +
      (0 + - (var 0 / s) * t)))
    (fun t => (m t - m 0) + (- (var 0 / s ^ 2) * (- s * exp (- s * t)) + - (var 0 / s))) 0 1) as H.
  assert (I : f 0 + (- (var 0 / s ^ 2) * exp (- s * 0) + (0 + - (var 0 / s) * 0)) <=
    f 1 + (- (var 0 / s ^ 2) * exp (- s * 1) + (0 + - (var 0 / s) * 1))).
  { apply H; [| | lra].
    - intros u _. apply derivable_pt_lim_plus; [apply f_derivative |].
      apply derivable_pt_lim_plus; [apply scaled_derivative; apply exp_scaled | apply affine].
    - intros u Hu. pose proof (slope_below u Hu) as B.
      replace (var 0 * (1 - exp (- s * u)) / s) with
        (- (- (var 0 / s ^ 2) * (- s * exp (- s * u)) + - (var 0 / s))) in B by (field; lra). lra. }
  rewrite f_0 in I. unfold f in I. rewrite at_1 in I.
  replace (- s * 0) with 0 in I by ring. replace (- s * 1) with (- s) in I by ring.
  rewrite exp_0 in I.
  replace (var 0 * (exp (- s) - 1 + s) / s ^ 2) with
    (var 0 / s ^ 2 * exp (- s) + - (var 0 / s ^ 2) * 1 + var 0 / s) by (field; lra). lra.
Qed.

Lemma kl_above : kl D q x <= m 1 - m 0.
Proof.
  destruct (MVT_cor2 f (fun t => m t - m 0) 0 1 ltac:(lra)) as [u [E Hu]];
    [intros; apply f_derivative |].
  rewrite f_0 in E. unfold f in E. rewrite at_1 in E.
  pose proof (increasing m var u 1 (fun t _ => m_derivative t) (fun t _ => var_pos t) ltac:(lra)).
  lra.
Qed.

(* the slope at q is that of p - pi along v *)
Lemma slope_at_q : m 1 - m 0 = sum K (fun k => (choice K q x k - pi k) * vk k).
Proof.
  rewrite !m_is. unfold p at 1. rewrite at_1.
  rewrite (sum_ext K (fun k => (choice K q x k - pi k) * vk k)
    (fun k => choice K q x k * vk k + -1 * (p 0 k * vk k)))
    by (intros k Hk; rewrite at_0 by auto; ring).
  rewrite sum_plus, sum_scal. ring.
Qed.

Lemma kl_at_most : kl D q x <= sum K (fun k => (choice K q x k - pi k) * vk k).
Proof. rewrite <- slope_at_q. apply kl_above. Qed.

Lemma slope_at_least :
  var 0 * (1 - exp (- s)) / s <= sum K (fun k => (choice K q x k - pi k) * vk k).
Proof.
  rewrite <- slope_at_q. replace (- s) with (- s * 1) by ring. apply slope_below. lra.
Qed.

Lemma var_0 : forall c, var 0 = sum K (fun k => pi k * (vk k - c) ^ 2) -
  sum K (fun k => pi k * (vk k - c)) ^ 2.
Proof.
  intros c. destruct Seen as [Hx _]. rewrite var_is.
  assert (M : m 0 = sum K (fun k => pi k * vk k)).
  { rewrite m_is. apply sum_ext. intros. rewrite at_0; auto. }
  rewrite (sum_ext K _ (fun k => pi k * vk k ^ 2 + (- 2 * m 0 * (pi k * vk k) + m 0 ^ 2 * pi k)))
    by (intros; rewrite at_0 by auto; ring).
  rewrite (sum_ext K (fun k => pi k * (vk k - c) ^ 2)
    (fun k => pi k * vk k ^ 2 + (- 2 * c * (pi k * vk k) + c ^ 2 * pi k))) by (intros; ring).
  rewrite (sum_ext K (fun k => pi k * (vk k - c)) (fun k => pi k * vk k + - c * pi k))
    by (intros; ring).
  rewrite !sum_plus, !sum_scal, <- M.
  assert (F : sum K pi = 1) by (apply frequency_sum; auto). rewrite F. ring.
Qed.
End Line.

(* --- the theorem *)
Lemma factor_holds : forall D x lambda delta T, counts D -> condition_S D -> seen D x ->
  0 < lambda -> least_variance D x lambda -> 0 < T -> 2 * delta / lambda <= exp (- T) - 1 + T ->
  forall q, kl D q x <= delta -> 2 * (lambda * ((1 - exp (- T)) / (2 * T))) * kl D q x <=
    sum (actions D) (fun k => (choice (actions D) q x k - frequency D x k) ^ 2).
Proof.
  intros D x lambda delta T C S Seen Hl LV HT Hd q Hq.
  set (K := actions D) in *. pose proof (actions_pos D C) as HK. fold K in HK.
  set (v := less q (table K (fun x k => ln (frequency D x k)))).
  set (vk := fun k => v (pair K x k)).
  set (mean := sum K vk / INR K).
  set (N := sum K (fun k => (vk k - mean) ^ 2)).
  assert (K0 : INR K <> 0) by (apply not_0_INR; lia).
  assert (Zero : sum K (fun k => vk k - mean) = 0).
  { rewrite (sum_ext K _ (fun k => vk k + - mean)), sum_plus, sum_const by (intros; ring).
    unfold mean. field. auto. }
  assert (N0 : 0 <= N) by (apply sum_pos; intros; apply pow2_ge_0).
  set (A := sum K (fun k => (choice K q x k - frequency D x k) ^ 2)).
  assert (A0 : 0 <= A) by (apply sum_pos; intros; apply pow2_ge_0).
  pose proof (kl_nonneg D C S q x (proj1 Seen)) as KL0.
  pose proof (kl_at_most D C S x Seen q) as Up.
  change (kl D q x <= sum K (fun k => (choice K q x k - frequency D x k) * vk k)) in Up.
  set (slope := sum K (fun k => (choice K q x k - frequency D x k) * vk k)) in *.
  assert (Cau : slope ^ 2 <= A * N).
  { assert (E : slope = sum K (fun k => 1 * (choice K q x k - frequency D x k) * (vk k - mean))).
    { rewrite (sum_ext K _ (fun k => (choice K q x k - frequency D x k) * vk k +
        (- mean * choice K q x k + mean * frequency D x k))) by (intros; ring).
      assert (F1 : sum K (frequency D x) = 1) by (apply frequency_sum; auto; apply Seen).
      rewrite !sum_plus, !sum_scal, choice_sum, F1 by auto.
      unfold slope. ring. }
    rewrite E. eapply Rle_trans; [apply (cauchy_sum K (fun _ => 1)); intros; lra |]. right.
    unfold A, N. f_equal; apply sum_ext; intros; ring. }
  assert (P : 0 <= lambda * ((1 - exp (- T)) / (2 * T))).
  { apply Rmult_le_pos; [lra |]. unfold Rdiv. apply Rmult_le_pos.
    - assert (exp (- T) < exp 0) by (apply exp_increasing; lra). rewrite exp_0 in H. lra.
    - left. apply Rinv_0_lt_compat. lra. }
  destruct (Req_dec N 0) as [Z | Z].
  { assert (slope = 0) by (rewrite Z in Cau; nra). assert (kl D q x = 0) by lra.
    rewrite H0. lra. }
  set (s := sqrt (2 * N)).
  assert (S2 : s ^ 2 = 2 * N) by (apply pow2_sqrt; lra).
  assert (Hs : 0 < s) by (apply sqrt_lt_R0; lra).
  assert (Span : forall k l, (k < K)%nat -> (l < K)%nat -> vk k - vk l <= s).
  { intros k l Hk Hl'. apply below_root; [lra |]. rewrite S2.
    destruct (Nat.eq_dec k l) as [E | E].
    { subst. replace ((vk l - vk l) ^ 2) with 0 by ring. lra. }
    assert (T2 : (vk k - mean) ^ 2 + (vk l - mean) ^ 2 <= N).
    { unfold N. apply (sum_two K (fun k => (vk k - mean) ^ 2)); auto.
      intros. apply pow2_ge_0. }
    pose proof (pow2_ge_0 (vk k - mean + (vk l - mean))). nra. }
  pose proof (slope_at_least D C S x Seen q s Hs Span) as Sl. cbv beta zeta in Sl.
  pose proof (kl_below D C S x Seen q s Hs Span) as Kb. cbv beta zeta in Kb.
  pose proof (var_0 D C S x Seen q mean) as V0. cbv beta zeta in V0.
  fold K v in Sl, Kb, V0. set (var := covariance _ _ _ _ _) in *.
  change (var * (1 - exp (- s)) / s <= slope) in Sl.
  assert (VL : lambda * N <= var).
  { rewrite V0. apply (LV (fun k => vk k - mean) Zero). }
  assert (E1 : exp (- s) < 1) by (rewrite <- exp_0; apply exp_increasing; lra).
  assert (Es : 0 <= exp (- s) - 1 + s) by (pose proof (exp_ineq1_le (- s)); lra).
  (* s <= T *)
  assert (ST : s <= T).
  { destruct (Rle_lt_dec s T) as [| L]; auto. exfalso.
    assert (Q : lambda / 2 * (exp (- s) - 1 + s) <= delta).
    { apply Rle_trans with (var * (exp (- s) - 1 + s) / s ^ 2); [| lra].
      rewrite S2. apply Rmult_le_reg_r with (2 * N); [lra |].
      replace (var * (exp (- s) - 1 + s) / (2 * N) * (2 * N)) with (var * (exp (- s) - 1 + s))
        by (field; lra).
      replace (lambda / 2 * (exp (- s) - 1 + s) * (2 * N))
        with (lambda * N * (exp (- s) - 1 + s)) by field.
      apply Rmult_le_compat_r; auto. }
    assert (Q2 : exp (- s) - 1 + s <= exp (- T) - 1 + T).
    { apply Rle_trans with (2 * delta / lambda); [| auto].
      apply Rmult_le_reg_l with (lambda / 2); [lra |].
      replace (lambda / 2 * (2 * delta / lambda)) with delta by (field; lra). auto. }
    pose proof (curve_strict T s ltac:(lra) L). lra. }
  pose proof (ratio_falls s T Hs ST) as R.
  (* A N >= slope^2 >= slope KL, and slope >= lambda N (1 - exp (- s)) / s *)
  assert (Q1 : lambda * N * (1 - exp (- s)) / s <= slope).
  { eapply Rle_trans; [| exact Sl]. unfold Rdiv. apply Rmult_le_compat_r;
      [left; apply Rinv_0_lt_compat; auto |]. apply Rmult_le_compat_r; lra. }
  assert (Q2 : lambda * (1 - exp (- s)) / s * kl D q x <= A).
  { apply Rmult_le_reg_r with N; [lra |].
    apply Rle_trans with (slope * kl D q x).
    - replace (lambda * (1 - exp (- s)) / s * kl D q x * N)
        with (lambda * N * (1 - exp (- s)) / s * kl D q x) by (field; lra).
      apply Rmult_le_compat_r; auto.
    - nra. }
  eapply Rle_trans; [| exact Q2]. apply Rmult_le_compat_r; [auto |].
  replace (2 * (lambda * ((1 - exp (- T)) / (2 * T)))) with (lambda * ((1 - exp (- T)) / T))
    by (field; lra).
  replace (lambda * (1 - exp (- s)) / s) with (lambda * ((1 - exp (- s)) / s)) by (field; lra).
  apply Rmult_le_compat_l; [lra |].
  apply Rmult_le_reg_r with (s * T); [apply Rmult_lt_0_compat; lra |].
  replace ((1 - exp (- T)) / T * (s * T)) with (s * (1 - exp (- T))) by (field; lra).
  replace ((1 - exp (- s)) / s * (s * T)) with (T * (1 - exp (- s))) by (field; lra).
  exact R.
Qed.

Theorem theorem_3_holds : theorem_3.
Proof.
  intros D x lambda delta C S Seen Hl LV Hd.
  assert (P : 0 < 2 * delta / lambda) by (apply Rdiv_lt_0_compat; lra).
  set (t := 2 * delta / lambda) in *. split.
  - destruct (IVT (fun T => exp (-1 * T) + (- 1 - t + 1 * T)) 0 (1 + t)) as [T [HT E]].
    + intros u. apply derivable_continuous_pt. exists (-1 * exp (-1 * u) + 1).
      apply derivable_pt_lim_plus; [apply exp_scaled | apply affine].
    + lra.
    + rewrite Rmult_0_r, exp_0. lra.
    + pose proof (exp_pos (-1 * (1 + t))). lra.
    + exists T. replace (-1 * T) with (- T) in E by ring. split; [| lra].
      destruct (Req_dec T 0) as [Z | Z]; [| lra]. subst T. rewrite Ropp_0, exp_0 in E. lra.
  - intros T [HT E]. split; [pose proof (exp_pos (- T)); lra |].
    apply (factor_holds D x lambda delta T); auto. fold t. lra.
Qed.

Theorem lambda_is_positive_holds : lambda_is_positive.
Proof.
  intros D x C S [Hx F]. pose proof (frequency_sum D C S x Hx) as One. split.
  - intros p Hp H v Hv. set (m := sum (actions D) (fun k => frequency D x k * v k)).
    apply Rle_trans with (sum (actions D) (fun k => p * (v k - m) ^ 2)).
    + rewrite sum_scal. apply Rmult_le_compat_l; [auto |].
      rewrite (sum_ext _ (fun k => (v k - m) ^ 2) (fun k => v k ^ 2 + (-2 * m * v k + m ^ 2)))
        by (intros; ring).
      rewrite !sum_plus, sum_scal, Hv, sum_const. pose proof (pos_INR (actions D)).
      pose proof (pow2_ge_0 m). nra.
    + apply Rle_trans with (sum (actions D) (fun k => frequency D x k * (v k - m) ^ 2)).
      * apply sum_le. intros k Hk. apply Rmult_le_compat_r; [apply pow2_ge_0 | auto].
      * right. rewrite (sum_ext _ _ (fun k => frequency D x k * v k ^ 2 +
          (-2 * m * (frequency D x k * v k) + m ^ 2 * frequency D x k))) by (intros; ring).
        rewrite !sum_plus, !sum_scal, One. fold m. ring.
  - intros K2 v Hv. rewrite K2 in One. simpl in *.
    replace (frequency D x 1) with (1 - frequency D x O) by lra.
    replace (v 1%nat) with (- v 0%nat) by lra. ring.
Qed.

Print Assumptions theorem_3_holds.
Print Assumptions lambda_is_positive_holds.
