(* The paper's identification for finitely many states: Lemmas 1, 4 and 22, Theorems 3 and 5. Weights of
   the population stand for the counts: w is then d* of states, and the frequencies are pi*. *)
Require Import Reals Lra Lia Psatz FunctionalExtensionality.
Require Import vectors contraction two_time_scales softmax risk gradient pl least identification.
Open Scope R_scope.

(* --- statements *)
Section Statements.
Variable D : data.
Local Notation X := (states D).
Local Notation K := (actions D).

(* Q solves the anchor's Bellman equation and has the true choices, at every state. *)
Definition solution (q : vector) := forall x, (x < X)%nat -> residual D q x = 0 /\
  forall k, (k < K)%nat -> choice K q x k = frequency D x k.
Definition same (q r : vector) := forall x k, (x < X)%nat -> (k < K)%nat ->
  q (pair K x k) = r (pair K x k).
(* the moves of any action, and the Bellman equation at all pairs for rewards rho *)
Definition moves (x k y : nat) := count D x k y / taken D x k.
Definition bellman (rho : nat -> nat -> R) (q : vector) := forall x k, (x < X)%nat -> (k < K)%nat ->
  q (pair K x k) = rho x k + beta D * sum X (fun y => moves x k y * value K q y).

(* T_f of Lemma 1: f(x) is Q(x, a_x), and V = f - ln pi*(a_x) *)
Definition t_f (f : vector) : vector := fun x => reward D x + beta D *
  sum X (fun y => P D x y * (f y - ln (frequency D y (anchor D y)))).

(* (q, zeta): zeta maximises f at q, and q has the least maximum *)
Definition minimax (q zeta : vector) := (forall z, f D q z <= f D q zeta) /\
  forall q', exists z, f D q zeta <= f D q' z.
End Statements.

Definition lemma_1 := forall D, counts D -> condition_S D -> condition_F D ->
  contracts (states D) (t_f D) (beta D) /\ (exists q, solution D q) /\
  forall q, solution D q ->
  fixed (states D) (t_f D) (fun x => q (pair (actions D) x (anchor D x))) /\
  (forall x k, (x < states D)%nat -> (k < actions D)%nat -> q (pair (actions D) x k) =
    q (pair (actions D) x (anchor D x)) + (ln (frequency D x k) - ln (frequency D x (anchor D x)))) /\
  (forall q', solution D q' -> same D q' q) /\
  forall rho q', bellman D rho q' -> solution D q' -> forall x k,
    (x < states D)%nat -> (k < actions D)%nat -> rho x k = q (pair (actions D) x k) -
      beta D * sum (states D) (fun y => moves D x k y * value (actions D) q y).

Definition theorem_3_of_the_paper := forall D star, counts D -> condition_S D -> condition_F D ->
  solution D star -> forall q, (forall q', g D q <= g D q') <-> same D q star.

(* One pair of state and action: next states i have the chances p i, V their values. *)
Definition lemma_4 := forall n (p V : vector) r beta q, (forall i, (i < n)%nat -> 0 <= p i) ->
  sum n p = 1 ->
  let mean := sum n (fun i => p i * V i) in
  let spread := fun z => sum n (fun i => p i * (V i - z) ^ 2) in
  let td := sum n (fun i => p i * (r + beta * V i - q) ^ 2) in
  (forall z, spread mean <= spread z) /\ (r + beta * mean - q) ^ 2 = td - beta ^ 2 * spread mean /\
  forall z, (forall z', spread z <= spread z') -> z = mean /\
    (q = r + beta * mean -> r = q - beta * z).

Definition theorem_5_of_the_paper := forall D star, counts D -> condition_S D -> condition_F D ->
  solution D star -> forall q zeta,
  (minimax D q zeta <-> same D q star /\
    (0 < beta D -> forall x, (x < states D)%nat -> zeta x = PV D q x)) /\
  (minimax D q zeta -> forall x, (x < states D)%nat ->
    reward D x = q (pair (actions D) x (anchor D x)) - beta D * zeta x).

(* the likelihood's minimisers, by their choices and by their differences *)
Definition lemma_22 := forall D star, counts D -> condition_S D -> condition_F D ->
  solution D star -> forall q,
  let chosen := forall x k, (x < states D)%nat -> (k < actions D)%nat ->
    choice (actions D) q x k = frequency D x k in
  ((forall q', nll D q <= nll D q') <-> chosen) /\
  (chosen <-> forall x k l, (x < states D)%nat -> (k < actions D)%nat -> (l < actions D)%nat ->
    q (pair (actions D) x k) - q (pair (actions D) x l) =
    star (pair (actions D) x k) - star (pair (actions D) x l)).

(* the anchor's squared errors are least, over all tables, where there is no error *)
Definition anchor_argmin := forall D, counts D -> condition_S D -> condition_F D ->
  let errors := fun q => sum (states D) (fun x => b D x * residual D q x ^ 2) in
  forall q, (forall q', errors q <= errors q') <->
    forall x, (x < states D)%nat -> residual D q x = 0.

(* --- proofs *)
Section Proof.
Variable D : data.
Local Notation X := (states D).
Local Notation K := (actions D).
Hypothesis C : counts D.
Hypothesis S : condition_S D.
Hypothesis F : condition_F D.

Lemma log_choices_of_frequency : log_choices D (fun x k => ln (frequency D x k)).
Proof.
  intros x Hx. rewrite <- (frequency_sum D C S x Hx). apply sum_ext. intros k Hk.
  apply exp_ln. apply (pi_pos D C S F); auto.
Qed.

Lemma solution_is : forall q, solution D q <->
  has_coordinates D q (fun x k => ln (frequency D x k)) (fun _ => 0).
Proof.
  intros q. split; intros H x Hx; destruct (H x Hx) as [E L]; split; auto; intros k Hk.
  - rewrite L by auto. auto.
  - pose proof (choice_pos K q x k (actions_pos D C)). pose proof (pi_pos D C S F x k Hx Hk).
    apply ln_inv; auto.
Qed.

Lemma value_same : forall q r y, same D q r -> (y < X)%nat -> value K q y = value K r y.
Proof.
  intros q r y H Hy. unfold value, total. f_equal. apply sum_ext. intros. rewrite H; auto.
Qed.

Lemma choice_same : forall q r x k, same D q r -> (x < X)%nat -> (k < K)%nat ->
  choice K q x k = choice K r x k.
Proof.
  intros q r x k H Hx Hk. unfold choice, total. rewrite H by auto. f_equal.
  apply sum_ext. intros. rewrite H; auto.
Qed.

Lemma residual_same : forall q r x, same D q r -> (x < X)%nat -> residual D q x = residual D r x.
Proof.
  intros q r x H Hx. unfold residual, PV, ahead. rewrite H by (auto; apply anchor_in; auto).
  f_equal. f_equal. f_equal. apply sum_ext. intros. rewrite (value_same q r); auto.
Qed.

Lemma solution_same : forall q r, same D q r -> solution D r -> solution D q.
Proof.
  intros q r H Q x Hx. destruct (Q x Hx) as [E L]. split.
  - rewrite (residual_same q r); auto.
  - intros k Hk. rewrite (choice_same q r); auto.
Qed.

Lemma there_is_one : exists q, solution D q.
Proof.
  destruct (bijection_of_tables_holds D _ (fun _ => 0) C S log_choices_of_frequency)
    as [V [_ [_ [H _]]]]. eexists. apply solution_is. exact H.
Qed.

Lemma only_one : forall q r, solution D q -> solution D r -> same D q r.
Proof.
  intros q r Hq Hr x k Hx Hk. apply solution_is in Hq. apply solution_is in Hr.
  destruct (bijection_of_tables_holds D _ (fun _ => 0) C S log_choices_of_frequency)
    as [V [_ [_ [_ U]]]].
  destruct (U q Hq x Hx) as [_ Uq]. destruct (U r Hr x Hx) as [_ Ur].
  rewrite Uq, Ur; auto.
Qed.

Lemma least_at : forall q, solution D q -> forall r, g D q <= g D r.
Proof.
  intros q H r. apply solution_is in H. pose proof (star_is_least D C S q H).
  destruct (least_value_holds D C S F) as [B _]. pose proof (B r). lra.
Qed.

Lemma least_only_at : forall star q, solution D star -> (forall r, g D q <= g D r) -> same D q star.
Proof.
  intros star q H B x k Hx Hk. pose proof (B star) as B1. pose proof (least_at star H q) as B2.
  apply solution_is in H. destruct (theorem_2_holds D star C S F H) as [_ [U _]].
  apply U; auto. lra.
Qed.

Lemma t_f_contracts : contracts X (t_f D) (beta D).
Proof.
  pose proof (affine_contracts X (P D) (beta D) (fun x => reward D x - beta D *
    sum X (fun y => P D x y * ln (frequency D y (anchor D y)))) (fun x y Hx _ => P_nonneg D C S x y Hx)
    (P_sum D C S)) as H.
  assert (Hb : 0 <= beta D < 1) by apply C. destruct (H Hb) as [B T]. split; [auto |].
  intros V U M N x Hx. specialize (T V U M N x Hx).
  assert (E : forall V, t_f D V x = reward D x - beta D *
    sum X (fun y => P D x y * ln (frequency D y (anchor D y))) + apply_once X (P D) (beta D) V x).
  { intros W. unfold t_f, apply_once.
    rewrite (sum_ext X _ (fun y => P D x y * W y + -1 * (P D x y * ln (frequency D y (anchor D y)))))
      by (intros; ring). rewrite sum_plus, sum_scal. ring. }
  rewrite !E. exact T.
Qed.

Lemma at_anchor_fixed : forall q, solution D q -> fixed X (t_f D) (fun x => q (pair K x (anchor D x))).
Proof.
  intros q H x Hx. destruct (H x Hx) as [E _]. unfold t_f.
  rewrite (sum_ext X _ (fun y => P D x y * value K q y)).
  - unfold residual, PV, ahead in E. lra.
  - intros y Hy. destruct (H y Hy) as [_ L]. rewrite <- L by (apply anchor_in; auto).
    rewrite log_choice by (apply actions_pos; auto). ring.
Qed.

Lemma by_anchor : forall q, solution D q -> forall x k, (x < X)%nat -> (k < K)%nat ->
  q (pair K x k) = q (pair K x (anchor D x)) +
    (ln (frequency D x k) - ln (frequency D x (anchor D x))).
Proof.
  intros q H x k Hx Hk. destruct (H x Hx) as [_ L]. pose proof (anchor_in D C x Hx).
  rewrite <- !L by auto. rewrite !log_choice by (apply actions_pos; auto). ring.
Qed.

Lemma kl_zero : forall q x, (x < X)%nat -> kl D q x = 0 ->
  forall k, (k < K)%nat -> choice K q x k = frequency D x k.
Proof.
  intros q x Hx Z k Hk. rewrite (kl_is D C S F q x Hx) in Z.
  set (l := fun k => ln (choice K q x k) - ln (frequency D x k)) in *.
  assert (T : forall i, (i < K)%nat -> 0 <= frequency D x i * (exp (l i) - 1 - l i)).
  { intros i Hi. pose proof (pi_pos D C S F x i Hx Hi). pose proof (exp_ineq1_le (l i)).
    apply Rmult_le_pos; lra. }
  pose proof (sum_term K _ k T Hk) as B. cbv beta in B. fold l in Z.
  change (sum K (fun i => frequency D x i * (exp (l i) - 1 - l i)) = 0) in Z. rewrite Z in B.
  pose proof (pi_pos D C S F x k Hx Hk) as Pk.
  pose proof (choice_pos K q x k (actions_pos D C)).
  apply ln_inv; auto. destruct (Req_dec (l k) 0) as [E | E]; [unfold l in E; lra |].
  pose proof (exp_ineq1 (l k) E). exfalso.
  assert (0 < frequency D x k * (exp (l k) - 1 - l k)) by (apply Rmult_lt_0_compat; lra). lra.
Qed.

Lemma kl_at_choices : forall q x, (x < X)%nat ->
  (forall k, (k < K)%nat -> choice K q x k = frequency D x k) -> kl D q x = 0.
Proof.
  intros q x Hx H. unfold kl. rewrite (sum_ext K _ (fun _ => 0)), sum_const; [ring |].
  intros k Hk. rewrite H by auto. ring.
Qed.

Lemma nll_is : forall q, nll D q = entropy D + sum X (fun x => w D x * kl D q x).
Proof.
  intros q. destruct (coordinates_hold D C S q) as [_ E]. rewrite (g_is D C S) in E. lra.
Qed.
End Proof.

Theorem lemma_1_holds : lemma_1.
Proof.
  intros D C S F. split; [apply t_f_contracts; auto |]. split; [apply there_is_one; auto |].
  intros q H. split; [apply at_anchor_fixed; auto |]. split; [apply by_anchor; auto |].
  split; [intros; apply only_one; auto |]. intros rho q' B H' x k Hx Hk.
  pose proof (only_one D C S F q' q H' H) as E. rewrite <- (E x k Hx Hk), (B x k Hx Hk).
  rewrite (sum_ext (states D) (fun y => moves D x k y * value (actions D) q y)
    (fun y => moves D x k y * value (actions D) q' y)); [ring |].
  intros y Hy. rewrite (value_same D q' q); auto.
Qed.

Theorem theorem_3_of_the_paper_holds : theorem_3_of_the_paper.
Proof.
  intros D star C S F H q. split.
  - apply least_only_at; auto.
  - intros E. apply least_at; auto. apply (solution_same D C q star); auto.
Qed.

Theorem lemma_4_holds : lemma_4.
Proof.
  intros n p V r beta q Hp H1 mean spread td.
  set (m2 := sum n (fun i => p i * V i ^ 2)).
  assert (E : forall z, spread z = m2 - mean ^ 2 + (z - mean) ^ 2).
  { intros z. unfold spread, m2.
    rewrite (sum_ext n _ (fun i => p i * V i ^ 2 + (-2 * z * (p i * V i) + z ^ 2 * p i)))
      by (intros; ring). rewrite !sum_plus, !sum_scal, H1. fold mean. ring. }
  assert (T : td = (r - q) ^ 2 + 2 * beta * (r - q) * mean + beta ^ 2 * m2).
  { unfold td, m2, mean.
    rewrite (sum_ext n _ (fun i => beta ^ 2 * (p i * V i ^ 2) +
      (2 * beta * (r - q) * (p i * V i) + (r - q) ^ 2 * p i))) by (intros; ring).
    rewrite !sum_plus, !sum_scal, H1. ring. }
  split; [intros z; rewrite !E; pose proof (pow2_ge_0 (z - mean)); lra |].
  split; [rewrite T, E; ring |]. intros z H. pose proof (H mean) as Q. rewrite !E in Q.
  assert (Z : z = mean) by (pose proof (pow2_ge_0 (z - mean)); nra).
  split; [exact Z |]. intros B. rewrite Z. lra.
Qed.

Theorem theorem_5_of_the_paper_holds : theorem_5_of_the_paper.
Proof.
  intros D star C S F H q zeta. pose proof (profile_over_zeta_holds D C S) as Prof.
  assert (Best : forall q z, f D q z <= g D q) by (intros; apply Prof).
  assert (At : forall q, f D q (PV D q) = g D q) by (intros; apply Prof; exact q).
  assert (Is : forall q z, f D q z = g D q - beta D ^ 2 * dot (states D) (b D) (off D q z) (off D q z))
    by (intros; apply Prof).
  assert (Forward : minimax D q zeta -> same D q star /\
    beta D ^ 2 * dot (states D) (b D) (off D q zeta) (off D q zeta) = 0).
  { intros [M1 M2]. pose proof (M1 (PV D q)) as A. rewrite At in A.
    pose proof (Best q zeta). pose proof (Is q zeta). split; [| lra].
    apply least_only_at; auto. intros q'. destruct (M2 q') as [z Hz]. pose proof (Best q' z). lra. }
  assert (Zero : 0 < beta D -> beta D ^ 2 * dot (states D) (b D) (off D q zeta) (off D q zeta) = 0 ->
    forall x, (x < states D)%nat -> zeta x = PV D q x).
  { intros B Z x Hx. rewrite dot_square in Z.
    assert (B2 : 0 < beta D ^ 2) by (apply pow_lt; auto).
    assert (Z' : sum (states D) (fun i => b D i * off D q zeta i ^ 2) = 0) by nra.
    pose proof (sum_term (states D) (fun i => b D i * off D q zeta i ^ 2) x
      ltac:(intros; apply Rmult_le_pos; [apply b_nonneg; auto | apply pow2_ge_0]) Hx) as T.
    cbv beta in T. rewrite Z' in T. pose proof (b_pos D C S x Hx).
    unfold off, less in T. set (e := zeta x - PV D q x) in *.
    pose proof (pow2_ge_0 e). assert (e ^ 2 = 0) by nra. assert (e = 0) by nra.
    unfold e in *. lra. }
  split; [split |].
  - intros M. destruct (Forward M) as [E Z]. split; [auto | intros; apply Zero; auto].
  - intros [E Z]. assert (G : f D q zeta = g D q).
    { rewrite Is. destruct (Req_dec (beta D) 0) as [B | B]; [rewrite B; ring |].
      assert (Hb : 0 < beta D) by (destruct C as [_ [_ [_ [_ Hb]]]]; lra).
      rewrite dot_square, (sum_ext _ _ (fun _ => 0)), sum_const; [ring |].
      intros x Hx. unfold off, less. rewrite (Z Hb x Hx). ring. }
    split; [intros z; rewrite G; apply Best |]. intros q'. exists (PV D q').
    rewrite G, At. apply least_at; auto. apply (solution_same D C q star); auto.
  - intros M x Hx. destruct (Forward M) as [E Z].
    assert (R : residual D q x = 0)
      by (rewrite (residual_same D C q star); auto; apply H; auto).
    unfold residual in R. destruct (Req_dec (beta D) 0) as [B | B].
    + rewrite B in *. lra.
    + assert (Hb : 0 < beta D) by (destruct C as [_ [_ [_ [_ Hb]]]]; lra).
      rewrite (Zero Hb Z x Hx). lra.
Qed.

Theorem lemma_22_holds : lemma_22.
Proof.
  intros D star C S F H q chosen. pose proof (actions_pos D C) as HK. split; split.
  - intros B x k Hx Hk. apply kl_zero; auto. pose proof (B star) as Bs.
    rewrite !(nll_is D C S) in Bs.
    rewrite (sum_ext (states D) (fun x => w D x * kl D star x) (fun _ => 0)), sum_const in Bs
      by (intros y Hy; rewrite kl_at_choices by (auto; apply H; auto); ring).
    pose proof (sum_term (states D) (fun x => w D x * kl D q x) x
      ltac:(intros; apply Rmult_le_pos; [apply w_nonneg | apply kl_nonneg]; auto) Hx) as T.
    cbv beta in T. pose proof (w_pos D C S x Hx). pose proof (kl_nonneg D C S q x Hx). nra.
  - intros Ch q'. rewrite !(nll_is D C S).
    rewrite (sum_ext (states D) (fun x => w D x * kl D q x) (fun _ => 0)), sum_const
      by (intros y Hy; rewrite kl_at_choices by (auto; intros; apply Ch; auto); ring).
    assert (0 <= sum (states D) (fun x => w D x * kl D q' x)).
    { apply sum_pos. intros. apply Rmult_le_pos; [apply w_nonneg | apply kl_nonneg]; auto. }
    lra.
  - intros Ch x k l Hx Hk Hl. destruct (H x Hx) as [_ L].
    pose proof (L k Hk) as Lk. pose proof (L l Hl) as Ll.
    rewrite <- (Ch x k) in Lk by auto. rewrite <- (Ch x l) in Ll by auto.
    apply (f_equal ln) in Lk. apply (f_equal ln) in Ll. rewrite !log_choice in Lk, Ll by auto. lra.
  - intros Df x k Hx Hk. destruct (H x Hx) as [_ L]. rewrite <- L by auto.
    unfold choice, total. set (c := q (pair (actions D) x k) - star (pair (actions D) x k)).
    assert (E : forall l, (l < actions D)%nat -> exp (q (pair (actions D) x l)) =
      exp c * exp (star (pair (actions D) x l))).
    { intros l Hl. rewrite <- exp_plus. f_equal. pose proof (Df x k l Hx Hk Hl). unfold c. lra. }
    rewrite (sum_ext (actions D) (fun l => exp (q (pair (actions D) x l)))
      (fun l => exp c * exp (star (pair (actions D) x l)))) by auto.
    rewrite sum_scal, (E k Hk). pose proof (total_pos (actions D) star x HK) as T. unfold total in T.
    pose proof (exp_pos c). field. lra.
Qed.

Theorem anchor_argmin_holds : anchor_argmin.
Proof.
  intros D C S F errors q. destruct (there_is_one D C S F) as [star H]. split.
  - intros B x Hx. pose proof (B star) as Bs. unfold errors at 2 in Bs.
    rewrite (sum_ext (states D) _ (fun _ => 0)), sum_const in Bs
      by (intros y Hy; destruct (H y Hy) as [Z _]; rewrite Z; ring).
    pose proof (sum_term (states D) (fun x => b D x * residual D q x ^ 2) x
      ltac:(intros; apply Rmult_le_pos; [apply b_nonneg; auto | apply pow2_ge_0]) Hx) as T.
    cbv beta in T. unfold errors in Bs. pose proof (b_pos D C S x Hx).
    pose proof (pow2_ge_0 (residual D q x)). assert (residual D q x ^ 2 = 0) by nra. nra.
  - intros Z q'. unfold errors.
    rewrite (sum_ext (states D) (fun x => b D x * residual D q x ^ 2) (fun _ => 0)), sum_const
      by (intros y Hy; rewrite Z by auto; ring).
    assert (0 <= sum (states D) (fun x => b D x * residual D q' x ^ 2)).
    { apply sum_pos. intros. apply Rmult_le_pos; [apply b_nonneg; auto | apply pow2_ge_0]. }
    lra.
Qed.

Print Assumptions lemma_1_holds.
Print Assumptions theorem_3_of_the_paper_holds.
Print Assumptions lemma_4_holds.
Print Assumptions theorem_5_of_the_paper_holds.
Print Assumptions lemma_22_holds.
Print Assumptions anchor_argmin_holds.
