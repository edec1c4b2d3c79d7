(* Theorem 7 of corrected.md: the level, as two real numbers c and z, per anchor observation. *)
Require Import Reals Lra Psatz.
Open Scope R_scope.

(* --- statements *)

(* The objective along a common shift c of Q and z of zeta, from a solution: the squared TD error
   of the shift less its correction. *)
Definition objective (b c z : R) := ((1 - b) * c) ^ 2 - b ^ 2 * (c - z) ^ 2.

(* The printed flow: descent in c and ascent in z, whose effective rate is r times that of c. *)
Definition flow_c (b c z : R) := 2 * ((2 * b - 1) * c - b ^ 2 * z).
Definition flow_z (r c z : R) := 2 * (r * (c - z)).

Definition flow_is_the_gradient := forall b r c z, 0 < b ->
  derivable_pt_lim (fun c => - objective b c z) c (flow_c b c z) /\
  derivable_pt_lim (fun z => r / b ^ 2 * objective b c z) z (flow_z r c z).

(* x + i y is an eigenvalue of the flow's matrix ((2 (2 b - 1), -2 b^2), (2 r, -2 r)): real and
   imaginary part of its characteristic polynomial. *)
Definition eigenvalue (b r x y : R) :=
  (2 * (2 * b - 1) - x) * (- 2 * r - x) - y ^ 2 - - 2 * b ^ 2 * (2 * r) = 0 /\
  - y * (2 * (2 * b - 1) - x) - y * (- 2 * r - x) = 0.

(* s is the slowest rate: the largest real part of an eigenvalue. *)
Definition slowest (b r s : R) :=
  (exists y, eigenvalue b r s y) /\ forall x y, eigenvalue b r x y -> x <= s.

Definition there_is_a_slowest_rate := forall b r, exists s, slowest b r s.

Definition equal_rates_are_best := forall b, 0 < b < 1 ->
  slowest b 1 (- 2 * (1 - b)) /\
  (forall x y, eigenvalue b 1 x y -> x = - 2 * (1 - b)) /\
  forall r s, 0 < r -> slowest b r s ->
    - 2 * (1 - b) <= s /\ (s = - 2 * (1 - b) -> r = 1).

(* zeta exact: z = c maximises the objective, and the flow in c has the rate below, which is also the
   limit of the slowest rate as r grows. *)
Definition rate_with_zeta_exact := forall b, 0 < b < 1 ->
  (forall c z, objective b c z <= objective b c c) /\
  (forall c, flow_c b c c = - 2 * (1 - b) ^ 2 * c) /\
  forall eps, 0 < eps -> exists R, forall r s, R < r -> slowest b r s ->
    Rabs (s - - 2 * (1 - b) ^ 2) < eps.

(* --- proofs *)

Definition D (b r : R) := (r - 1) * (r - (2 * b - 1) ^ 2).

Lemma centred : forall b r x y, eigenvalue b r x y <->
  (x - (2 * b - 1 - r)) ^ 2 - y ^ 2 = D b r /\ y * (x - (2 * b - 1 - r)) = 0.
Proof. intros; unfold eigenvalue, D; split; intros [E F]; split; nra. Qed.

Lemma slowest_is : forall b r, slowest b r (2 * b - 1 - r + sqrt (D b r)).
Proof.
  intros b r; split.
  - destruct (Rle_lt_dec 0 (D b r)) as [H | H].
    + exists 0. apply centred.
      pose proof (sqrt_sqrt _ H). split; nra.
    + exists (sqrt (- D b r)). apply centred.
      rewrite (sqrt_neg_0 (D b r)) by lra.
      assert (H0 : 0 <= - D b r) by lra. pose proof (sqrt_sqrt _ H0). split; nra.
  - intros x y E. apply centred in E. destruct E as [E F].
    pose proof (sqrt_pos (D b r)).
    destruct (Rle_lt_dec x (2 * b - 1 - r)) as [H0 | H0]; [lra |].
    assert (y = 0) by nra. subst y.
    assert (0 <= D b r) by nra.
    assert (x - (2 * b - 1 - r) = sqrt (D b r)); [| lra].
    symmetry. apply sqrt_lem_1; nra.
Qed.

Lemma slowest_unique : forall b r s t, slowest b r s -> slowest b r t -> s = t.
Proof.
  intros b r s t [[y E] U] [[z F] W]. apply Rle_antisym; [apply (W _ _ E) | apply (U _ _ F)].
Qed.

Theorem slowest_rate_exists : there_is_a_slowest_rate.
Proof. intros b r. eexists. apply slowest_is. Qed.

Theorem level_best : equal_rates_are_best.
Proof.
  intros b Hb. split; [| split].
  - replace (- 2 * (1 - b)) with (2 * b - 1 - 1 + sqrt (D b 1)); [apply slowest_is |].
    unfold D. replace ((1 - 1) * (1 - (2 * b - 1) ^ 2)) with 0 by ring. rewrite sqrt_0. ring.
  - intros x y E. apply centred in E. destruct E as [E F]. unfold D in E.
    replace ((1 - 1) * (1 - (2 * b - 1) ^ 2)) with 0 in E by ring.
    apply Rmult_integral in F. destruct F as [F | F]; [subst y; nra | lra].
  - intros r s Hr S. rewrite (slowest_unique _ _ _ _ S (slowest_is b r)). clear S s.
    pose proof (sqrt_pos (D b r)).
    destruct (Rtotal_order r 1) as [H0 | [H0 | H0]]; [split; lra | split; lra |].
    assert (0 < b * (1 - b)) by nra.
    assert (B : (r - 1) ^ 2 < D b r) by (unfold D; nra).
    assert (r - 1 < sqrt (D b r)).
    { rewrite <- (sqrt_pow2 (r - 1)) by lra. apply sqrt_lt_1; nra. }
    split; lra.
Qed.

Lemma close_above : forall b r, 0 < b < 1 -> 2 < r ->
  sqrt (D b r) < r + 1 - 2 * b - 2 * (1 - b) ^ 2.
Proof.
  intros b r Hb Hr. assert (P : 0 < r + 1 - 2 * b - 2 * (1 - b) ^ 2) by nra.
  rewrite <- (sqrt_pow2 (r + 1 - 2 * b - 2 * (1 - b) ^ 2)) by lra.
  assert (0 < b * (1 - b)) by nra.
  assert ((r + 1 - 2 * b - 2 * (1 - b) ^ 2) ^ 2 - D b r = 4 * (b * (1 - b)) ^ 2)
    by (unfold D; ring).
  apply sqrt_lt_1; [unfold D; nra | nra | nra].
Qed.

Theorem level_with_zeta_exact : rate_with_zeta_exact.
Proof.
  intros b Hb. split; [| split].
  - intros c z. unfold objective. assert (0 <= b ^ 2 * (c - z) ^ 2); [| nra].
    apply Rmult_le_pos; apply pow2_ge_0.
  - intros c. unfold flow_c. ring.
  - intros eps He. exists (2 + (4 + eps ^ 2) / (2 * eps) + eps). intros r s Hr S.
    rewrite (slowest_unique _ _ _ _ S (slowest_is b r)).
    assert (K : 0 < (4 + eps ^ 2) / (2 * eps)) by (apply Rdiv_lt_0_compat; nra).
    assert (H2 : 2 < r) by lra.
    pose proof (close_above b r Hb H2) as Above.
    assert (I : (4 + eps ^ 2) / (2 * eps) * (2 * eps) = 4 + eps ^ 2) by (field; lra).
    set (a := r + 1 - 2 * b - 2 * (1 - b) ^ 2) in *.
    assert (0 < b * (1 - b) < 1) by nra.
    assert (A : (4 + eps ^ 2) / (2 * eps) + eps < a) by (unfold a; nra).
    assert (E : a ^ 2 - D b r = 4 * (b * (1 - b)) ^ 2) by (unfold a, D; ring).
    assert (Below : a - eps < sqrt (D b r)).
    { rewrite <- (sqrt_pow2 (a - eps)) by lra. apply sqrt_lt_1; nra. }
    apply Rabs_def1; unfold a in *; lra.
Qed.

Lemma derivative : forall f x l k,
  (forall h, h <> 0 -> (f (x + h) - f x) / h - l = k * h) -> derivable_pt_lim f x l.
Proof.
  intros f x l k H eps He.
  assert (0 < Rabs k + 1) by (pose proof (Rabs_pos k); lra).
  assert (Hd : 0 < eps / (Rabs k + 1)) by (apply Rdiv_lt_0_compat; lra).
  exists (mkposreal _ Hd). intros h Hh Hs. simpl in Hs. rewrite (H h Hh), Rabs_mult.
  assert (E : eps / (Rabs k + 1) * (Rabs k + 1) = eps) by (field; lra).
  pose proof (Rabs_pos k). pose proof (Rabs_pos_lt h Hh). nra.
Qed.

Theorem flow_gradient : flow_is_the_gradient.
Proof.
  intros b r c z Hb. unfold objective, flow_c, flow_z. split.
  - apply derivative with (k := 2 * b - 1). intros h Hh. field. exact Hh.
  - apply derivative with (k := - r). intros h Hh. field. lra.
Qed.

Print Assumptions flow_gradient.
Print Assumptions slowest_rate_exists.
Print Assumptions level_best.
Print Assumptions level_with_zeta_exact.
