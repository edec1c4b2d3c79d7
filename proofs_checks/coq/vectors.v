(* Vectors are functions of an index; sums and inner products are over the first n indices. *)
Require Import Reals Lra Lia Psatz FunctionalExtensionality.
Open Scope R_scope.

(* --- definitions *)
Definition vector := nat -> R.
Fixpoint sum (n : nat) (x : vector) : R := match n with O => 0 | S k => sum k x + x k end.
Fixpoint dot (n : nat) (w x y : vector) : R :=
  match n with O => 0 | S k => dot k w x y + w k * x k * y k end.
Definition along (q p : vector) (s : R) : vector := fun i => q i + s * p i.
Definition less (x y : vector) : vector := fun i => x i - y i.

(* --- inner products *)
Lemma dot_ext : forall n w x y x' y', (forall i, x i = x' i) -> (forall i, y i = y' i) ->
  dot n w x y = dot n w x' y'.
Proof. induction n; intros; simpl; [reflexivity |]. rewrite (IHn w x y x' y'), H, H0; auto. Qed.

Lemma dot_sym : forall n w x y, dot n w x y = dot n w y x.
Proof. induction n; intros; simpl; [reflexivity |]. rewrite IHn. ring. Qed.

Lemma dot_along : forall n w x y z s, dot n w x (along y z s) = dot n w x y + s * dot n w x z.
Proof. induction n; intros; unfold along in *; simpl; [ring |]. rewrite IHn. ring. Qed.

Lemma dot_less : forall n w x y z, dot n w x (less y z) = dot n w x y - dot n w x z.
Proof. induction n; intros; unfold less in *; simpl; [ring |]. rewrite IHn. ring. Qed.

Lemma dot_pos : forall n w x, (forall i, 0 <= w i) -> 0 <= dot n w x x.
Proof.
  induction n; intros; simpl; [lra |]. pose proof (IHn w x H). pose proof (H n).
  assert (0 <= w n * (x n) ^ 2) by (apply Rmult_le_pos; [auto | apply pow2_ge_0]). nra.
Qed.

Lemma cauchy : forall n w x y, (forall i, 0 <= w i) ->
  dot n w x y ^ 2 <= dot n w x x * dot n w y y.
Proof.
  intros n w x y H.
  assert (Q : forall s, 0 <= dot n w x x + 2 * s * dot n w x y + s ^ 2 * dot n w y y).
  { intros s. pose proof (dot_pos n w (along x y s) H) as P. rewrite dot_along in P.
    rewrite (dot_sym n w (along x y s) x), (dot_sym n w (along x y s) y), !dot_along in P.
    rewrite (dot_sym n w y x) in P. nra. }
  pose proof (dot_pos n w x H). pose proof (dot_pos n w y H).
  destruct (Req_dec (dot n w y y) 0) as [E | E].
  - rewrite E. destruct (Req_dec (dot n w x y) 0) as [Z | Z]; [rewrite Z; lra |].
    exfalso. pose proof (Q (- (dot n w x x + 1) / (2 * dot n w x y))) as P. rewrite E in P.
    replace (dot n w x x + 2 * (- (dot n w x x + 1) / (2 * dot n w x y)) * dot n w x y +
      (- (dot n w x x + 1) / (2 * dot n w x y)) ^ 2 * 0) with (-1) in P by (field; auto). lra.
  - pose proof (Q (- dot n w x y / dot n w y y)) as P.
    assert (K : dot n w y y * (dot n w x x + 2 * (- dot n w x y / dot n w y y) * dot n w x y +
      (- dot n w x y / dot n w y y) ^ 2 * dot n w y y)
      = dot n w x x * dot n w y y - dot n w x y ^ 2) by (field; auto).
    assert (0 <= dot n w x x * dot n w y y - dot n w x y ^ 2); [| lra].
    rewrite <- K. apply Rmult_le_pos; lra.
Qed.


Lemma along_0 : forall x p, along x p 0 = x.
Proof. intros. apply functional_extensionality. intros i. unfold along. ring. Qed.

(* --- sums *)
Lemma sum_ext : forall n x y, (forall i, (i < n)%nat -> x i = y i) -> sum n x = sum n y.
Proof. induction n; intros; simpl; [auto |]. rewrite (IHn x y), (H n); auto. Qed.
Lemma sum_le : forall n x y, (forall i, (i < n)%nat -> x i <= y i) -> sum n x <= sum n y.
Proof. induction n; intros; simpl; [lra |]. apply Rplus_le_compat; auto. Qed.
Lemma sum_pos : forall n x, (forall i, (i < n)%nat -> 0 <= x i) -> 0 <= sum n x.
Proof. induction n; intros; simpl; [lra |]. apply Rplus_le_le_0_compat; auto. Qed.
Lemma sum_scal : forall n c x, sum n (fun i => c * x i) = c * sum n x.
Proof. induction n; intros; simpl; [ring |]. rewrite IHn. ring. Qed.
Lemma sum_plus : forall n x y, sum n (fun i => x i + y i) = sum n x + sum n y.
Proof. induction n; intros; simpl; [ring |]. rewrite IHn. ring. Qed.
Lemma sum_swap : forall n m x, sum n (fun i => sum m (fun j => x i j)) =
  sum m (fun j => sum n (fun i => x i j)).
Proof.
  induction n; intros; simpl.
  - induction m; simpl; [auto | rewrite <- IHm; ring].
  - rewrite IHn, <- sum_plus. auto.
Qed.
Lemma dot_sum : forall n w x y, dot n w x y = sum n (fun i => w i * x i * y i).
Proof. induction n; intros; simpl; [auto |]. rewrite IHn. auto. Qed.

Lemma sum_const : forall n c, sum n (fun _ => c) = INR n * c.
Proof. induction n; intros; [simpl; ring |]. rewrite S_INR. simpl sum. rewrite IHn. ring. Qed.

(* a term of a sum of terms that are not negative *)
Lemma sum_term : forall n x i, (forall i, (i < n)%nat -> 0 <= x i) -> (i < n)%nat -> x i <= sum n x.
Proof.
  induction n; intros x i H Hi; [lia |]. simpl.
  destruct (Nat.eq_dec i n) as [E | E].
  - subst. assert (0 <= sum n x) by (apply sum_pos; auto). lra.
  - assert (x i <= sum n x) by (apply IHn; [auto | lia]).
    assert (0 <= x n) by auto. lra.
Qed.

Lemma sum_two : forall n x k l, (forall i, (i < n)%nat -> 0 <= x i) -> k <> l ->
  (k < n)%nat -> (l < n)%nat -> x k + x l <= sum n x.
Proof.
  induction n; intros x k l H E Hk Hl; [lia |]. simpl.
  assert (H' : forall i, (i < n)%nat -> 0 <= x i) by auto.
  destruct (Nat.eq_dec k n) as [Ek | Ek]; [| destruct (Nat.eq_dec l n) as [El | El]].
  - subst. pose proof (sum_term n x l H' ltac:(lia)). lra.
  - subst. pose proof (sum_term n x k H' ltac:(lia)). lra.
  - pose proof (IHn x k l H' E ltac:(lia) ltac:(lia)). pose proof (H n (Nat.lt_succ_diag_r n)). lra.
Qed.

(* one index alone *)
Definition one (i j : nat) : R := if Nat.eqb i j then 1 else 0.

Lemma sum_one : forall n i x, (i < n)%nat -> sum n (fun j => one j i * x j) = x i.
Proof.
  intros n i x. assert (Z : forall n, (n <= i)%nat -> sum n (fun j => one j i * x j) = 0).
  { induction n0; intros; simpl; [auto |]. rewrite IHn0 by lia. unfold one.
    destruct (Nat.eqb_spec n0 i); [lia | ring]. }
  induction n; intros H; [lia |]. simpl. destruct (Nat.eq_dec i n) as [E | E].
  - subst. rewrite Z by lia. unfold one. rewrite Nat.eqb_refl. ring.
  - rewrite IHn by lia. unfold one. destruct (Nat.eqb_spec n i); [lia | ring].
Qed.

(* terms past the first m that vanish *)
Lemma sum_tail : forall n m x, (m <= n)%nat -> (forall i, (m <= i)%nat -> (i < n)%nat -> x i = 0) ->
  sum n x = sum m x.
Proof.
  induction n; intros m x H Z; [replace m with O by lia; auto |].
  destruct (Nat.eq_dec m (S n)) as [E | E]; [subst; auto |].
  simpl. rewrite (Z n), (IHn m x) by (auto; lia). ring.
Qed.

Lemma cauchy_sum : forall n w x y, (forall i, (i < n)%nat -> 0 <= w i) ->
  sum n (fun i => w i * x i * y i) ^ 2 <=
  sum n (fun i => w i * x i ^ 2) * sum n (fun i => w i * y i ^ 2).
Proof.
  intros n w x y H. set (w' := fun i => Rmax 0 (w i)).
  assert (E : forall i, (i < n)%nat -> w i = w' i)
    by (intros; unfold w'; rewrite Rmax_right; auto).
  pose proof (cauchy n w' x y (fun i => Rmax_l 0 (w i))) as C. rewrite !dot_sum in C.
  rewrite (sum_ext n _ (fun i => w' i * x i * y i)) by (intros; rewrite E; auto).
  rewrite (sum_ext n (fun i => w i * x i ^ 2) (fun i => w' i * x i * x i))
    by (intros; rewrite E; [ring | auto]).
  rewrite (sum_ext n (fun i => w i * y i ^ 2) (fun i => w' i * y i * y i))
    by (intros; rewrite E; [ring | auto]).
  exact C.
Qed.

(* Jensen: the square of a mean is at most the mean of squares *)
Lemma mean_square : forall n a x, (forall i, (i < n)%nat -> 0 <= a i) -> sum n a = 1 ->
  sum n (fun i => a i * x i) ^ 2 <= sum n (fun i => a i * x i ^ 2).
Proof.
  intros n a x H H1. pose proof (cauchy_sum n a (fun _ => 1) x H) as C. cbv beta in C.
  rewrite (sum_ext n (fun i => a i * 1 * x i) (fun i => a i * x i)) in C by (intros; ring).
  rewrite (sum_ext n (fun i => a i * 1 ^ 2) a) in C by (intros; ring). rewrite H1 in C. lra.
Qed.

(* --- sums of absolute values *)
Lemma sum_abs : forall n x, Rabs (sum n x) <= sum n (fun i => Rabs (x i)).
Proof.
  induction n; intros; simpl; [rewrite Rabs_R0; lra |].
  eapply Rle_trans; [apply Rabs_triang |]. apply Rplus_le_compat; [apply IHn | lra].
Qed.

Lemma sum_abs_pos : forall n x, 0 <= sum n (fun i => Rabs (x i)).
Proof. intros. apply sum_pos. intros. apply Rabs_pos. Qed.

Lemma sum_squares : forall n x, sum n (fun i => x i ^ 2) <= sum n (fun i => Rabs (x i)) ^ 2.
Proof.
  assert (Sum : forall n x, sum (S n) x = sum n x + x n) by reflexivity.
  induction n; intros; [simpl; lra |]. rewrite !Sum. pose proof (IHn x).
  pose proof (sum_abs_pos n x). pose proof (Rabs_pos (x n)).
  assert (E : x n ^ 2 = Rabs (x n) ^ 2) by (rewrite <- Rsqr_pow2, Rsqr_abs, Rsqr_pow2; auto).
  rewrite E. nra.
Qed.

(* --- derivatives *)
Lemma sum_derivative : forall n f f' s,
  (forall i, derivable_pt_lim (fun s => f s i) s (f' i)) ->
  derivable_pt_lim (fun s => sum n (f s)) s (sum n f').
Proof.
  induction n; intros; simpl; [apply derivable_pt_lim_const |].
  apply derivable_pt_lim_plus; auto.
Qed.

Lemma scaled_derivative : forall c f s l, derivable_pt_lim f s l ->
  derivable_pt_lim (fun s => c * f s) s (c * l).
Proof.
  intros c f s l D. replace (c * l) with (0 * f s + c * l) by ring.
  apply (derivable_pt_lim_mult (fun _ => c) f); [apply derivable_pt_lim_const | exact D].
Qed.

Lemma square_derivative : forall f s l, derivable_pt_lim f s l ->
  derivable_pt_lim (fun s => f s ^ 2) s (2 * f s * l).
Proof.
  intros f s l D. replace (2 * f s * l) with (l * f s + f s * l) by ring.
  assert (E : (fun s => f s ^ 2) = (f * f)%F)
    by (apply functional_extensionality; intros; unfold mult_fct; ring).
  rewrite E. apply derivable_pt_lim_mult; exact D.
Qed.
