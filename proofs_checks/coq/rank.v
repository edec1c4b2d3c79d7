(* E7: Assumption 5 (ii), J J' >= mu, needs as many parameters as evaluation points. *)
Require Import Reals Lra Lia Psatz vectors.
Open Scope R_scope.

(* --- statement: J d i is the derivative of output i by parameter d *)
Definition fewer_parameters := forall n m (J : nat -> vector) mu, (n < m)%nat -> 0 < mu ->
  ~ forall t : vector, sum n (fun d => sum m (fun i => J d i * t i) ^ 2) >=
    mu * sum m (fun i => t i ^ 2).

(* --- fewer equations than unknowns *)
(* the indices without i *)
Definition skip (i j : nat) : nat := if Nat.ltb j i then j else S j.

Lemma sum_skip : forall m i x, (i < S m)%nat ->
  sum (S m) x = x i + sum m (fun j => x (skip i j)).
Proof.
  induction m; intros i x Hi.
  - assert (i = 0)%nat by lia. subst. simpl. ring.
  - destruct (Nat.eq_dec i (S m)) as [E | E].
    + subst. rewrite (sum_ext (S m) (fun j => x (skip (S m) j)) x); [simpl; ring |].
      intros j Hj. unfold skip. destruct (Nat.ltb_spec j (S m)); [auto | lia].
    + change (sum (S (S m)) x) with (sum (S m) x + x (S m)). rewrite (IHm i x) by lia. simpl.
      assert (K : skip i m = S m) by (unfold skip; destruct (Nat.ltb_spec m i); lia).
      rewrite K. ring.
Qed.

Lemma kernel : forall n m (J : nat -> vector), (n < m)%nat -> exists t : vector,
  (exists i, (i < m)%nat /\ t i <> 0) /\
  forall d, (d < n)%nat -> sum m (fun i => J d i * t i) = 0.
Proof.
  induction n; intros m J H.
  - exists (fun _ => 1). split; [exists O; split; [lia | lra] | intros; lia].
  - assert (D : (exists i, (i < m)%nat /\ J n i <> 0) \/
      forall i, (i < m)%nat -> J n i = 0).
    { clear H IHn. induction m; [right; intros; lia |].
      destruct IHm as [[i [Hi Z]] | Z]; [left; exists i; split; [lia | auto] |].
      destruct (Req_dec (J n m) 0) as [E | E].
      - right. intros i Hi. destruct (Nat.eq_dec i m); [subst; auto | apply Z; lia].
      - left. exists m. split; [lia | auto]. }
    destruct D as [[i [Hi Z]] | Z].
    + destruct m as [| m]; [lia |].
      destruct (IHn m (fun d j => J d (skip i j) - J d i * J n (skip i j) / J n i) ltac:(lia))
        as [u [[j [Hj Uj]] Hu]].
      set (v := - sum m (fun j => J n (skip i j) * u j) / J n i).
      set (t := fun k : nat => if Nat.eqb k i then v else u (if Nat.ltb k i then k else pred k)).
      assert (Ti : t i = v) by (unfold t; rewrite Nat.eqb_refl; auto).
      assert (Ts : forall j, t (skip i j) = u j).
      { intros k. unfold t, skip. destruct (Nat.ltb_spec k i) as [L | L].
        - destruct (Nat.eqb_spec k i); [lia |]. destruct (Nat.ltb_spec k i); [auto | lia].
        - destruct (Nat.eqb_spec (S k) i); [lia |]. destruct (Nat.ltb_spec (S k) i); [lia | auto]. }
      exists t. split.
      * exists (skip i j). split; [unfold skip; destruct (Nat.ltb_spec j i); lia |].
        rewrite Ts. auto.
      * assert (A : forall d, sum (S m) (fun k => J d k * t k) =
          J d i * v + sum m (fun j => J d (skip i j) * u j)).
        { intros d. rewrite (sum_skip m i) by auto. rewrite Ti. f_equal. apply sum_ext.
          intros. rewrite Ts. auto. }
        intros d Hd. rewrite A. destruct (Nat.eq_dec d n) as [E | E].
        -- subst. unfold v. field. auto.
        -- pose proof (Hu d ltac:(lia)) as Q.
           rewrite (sum_ext m _ (fun j => J d (skip i j) * u j +
             - (J d i / J n i) * (J n (skip i j) * u j))) in Q by (intros; field; auto).
           rewrite sum_plus, sum_scal in Q. unfold v. rewrite <- Q. field. auto.
    + destruct (IHn m J ltac:(lia)) as [t [T Ht]]. exists t. split; [auto |].
      intros d Hd. destruct (Nat.eq_dec d n) as [E | E]; [| apply Ht; lia].
      subst. rewrite (sum_ext m _ (fun _ => 0 * 0)) by (intros; rewrite Z by auto; ring).
      rewrite sum_const. ring.
Qed.

Theorem fewer_parameters_holds : fewer_parameters.
Proof.
  intros n m J mu H Hmu Q. destruct (kernel n m J H) as [t [[i [Hi Ti]] Z]]. specialize (Q t).
  rewrite (sum_ext n _ (fun _ => 0)), sum_const in Q
    by (intros d Hd; rewrite Z by auto; ring).
  pose proof (sum_term m (fun i => t i ^ 2) i ltac:(intros; apply pow2_ge_0) Hi) as P.
  cbv beta in P. pose proof (Rsqr_pos_lt (t i) Ti) as R. unfold Rsqr in R. nra.
Qed.

Print Assumptions fewer_parameters_holds.
