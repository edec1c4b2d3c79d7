; What the paper prints and what to write instead, in the language of verify.py. `some`: constants
; of which the paper says that they exist; the statement is then refuted for every value, with the
; same `data`. What is `given` comes after the constants, and may depend on them. A hypothesis that
; only a counterexample has to meet is assumed where the printed statement fails.

(claim lem:telescoping
  ; Q is Q^pi, d is d^pi given the first pair, normalised by 1 - beta
  (given (beta discount) (r (list S (list A real))) (P (list S (list A (distribution S))))
         (pi (list S (distribution A))) (f (list S (list A real))) (s0 (index S)) (a0 (index A))
         (Q (list S (list A real))) (d (list S (list A nonnegative))))
  (assume
    (all s S (all a A (= (Q s a) (+ (r s a) (* beta (ahead P (of-policy pi Q) s a))))))
    (all s S (all a A (= (d s a)
      (+ (if (and (= s s0) (= a a0)) (- 1 beta) 0)
         (* beta (pi s a) (sum u S (sum c A (* (d u c) (P u c s))))))))))
  (printed (= (- (Q s0 a0) (f s0 a0))
    (/ (sum s S (sum a A (* (d s a) (- (+ (r s a) (ahead P (of-policy pi f) s a)) (f s a)))))
       (- 1 beta))))
  (corrected (= (- (Q s0 a0) (f s0 a0))
    (/ (sum s S (sum a A
         (* (d s a) (- (+ (r s a) (* beta (ahead P (of-policy pi f) s a))) (f s a)))))
       (- 1 beta)))))

(claim app.value-function-discount
  ; W(s) = E_pi*[sum_h beta^h (r + entropy)]; counted from beta^h, V at period h is beta^h W
  (given (beta discount) (h count) (r (list S (list A real)))
         (P (list S (list A (distribution S)))) (pi (list S (distribution A))) (W (list S real)))
  (assume
    (all s S (all a A (> (pi s a) 0)))
    (all s S (= (W s) (+ (entropy (pi s))
      (sum a A (* (pi s a) (+ (r s a) (* beta (ahead P W s a))))))))
    (all s S (all a A (all b A (= (log (/ (pi s a) (pi s b)))
      (- (+ (r s a) (* beta (ahead P W s a))) (+ (r s b) (* beta (ahead P W s b)))))))))
  (printed (all s S (= (* (^ beta h) (W s))
    (V (vec a A (+ (r s a) (* beta (^ beta (+ h 1)) (ahead P W s a))))))))
  (corrected (all s S (= (W s) (V (vec a A (+ (r s a) (* beta (ahead P W s a)))))))))

(claim setup.Q-star-bounded
  (data (beta discount))
  (some (M positive))
  (given (r (list S (list A real))) (P (list S (list A (distribution S))))
         (Q (list S (list A real))))
  (assume (all s S (all a A (= (Q s a) (T r beta P Q s a)))))
  (printed (<= (largest s S (largest a A (abs (Q s a)))) M))
  (corrected (<= (largest s S (largest a A (abs (Q s a))))
    (/ (+ (largest s S (largest a A (abs (r s a)))) (* beta (log A))) (- 1 beta))))
  (step "The world is S = [0, oo), every state absorbing, r(s) = s: its state s = M is by itself a
    world of one state, which is the instance, and M is any number."))

(claim setup.ddc-policy-class
  ; Q solves the displayed equation; W is the best value of policies that see s alone, for which
  ; eps has mean 0; U is the value of one that sees eps and has the choice shares pi, the noise of
  ; what it chooses having at most the mean H(pi)
  (given (beta discount) (r (list S (list A real))) (P (list S (list A (distribution S))))
         (Q (list S (list A real))) (W (list S real)) (pi (list S (distribution A)))
         (U (list S real)))
  (assume
    (all s S (all a A (= (Q s a) (T r beta P Q s a))))
    (all s S (= (W s) (largest a A (+ (r s a) (* beta (ahead P W s a))))))
    (all s S (= (U s) (+ (entropy (pi s))
      (sum a A (* (pi s a) (+ (r s a) (* beta (ahead P U s a)))))))))
  (printed (all s S (= (V (Q s)) (W s))))
  (corrected (and
    (all s S (<= (U s) (V (Q s))))
    (all s S (= (V (Q s)) (sum a A (* (choice (Q s) a)
      (- (Q s a) (log (choice (Q s) a))))))))))

(claim thm:MagnacThesmar.proof-step
  (given (beta discount) (r (list S (list A real))) (P (list S (list A (distribution S))))
         (anchor (list S (index A))) (Q (list S (list A real))) (other (list S (list A real))))
  (assume
    (all s S (all a A (= (Q s a) (T r beta P Q s a))))
    (all s S (= (other s (anchor s)) (+ (r s (anchor s)) (* beta (ahead P
      (vec t S (- (other t (anchor t)) (log (choice (Q t) (anchor t))))) s (anchor s)))))))
  (printed (= (farthest other Q) 0))
  (corrected (all s S (all a A (= (Q s a) (+ (other s (anchor s))
    (- (log (choice (Q s) a)) (log (choice (Q s) (anchor s))))))))))

(claim eq:zeta-reparametrisation
  (given (beta discount) (r (list S (list A real))) (P (list S (list A (distribution S))))
         (Q (list S (list A real))) (zeta (list S (list A real))))
  (printed (all s S (all a A (=
    (- (td r beta P Q s a) (* (^ beta 2) (spread P Q s a (zeta s a))))
    (let (h (- (+ (zeta s a) (r s a)) (Q s a)))
      (- (* 2 (- (T r beta P Q s a) (Q s a)) h) (^ h 2)))))))
  (corrected (all s S (all a A (=
    (- (td r beta P Q s a) (* (^ beta 2) (spread P Q s a (zeta s a))))
    (let (h (- (+ (* beta (zeta s a)) (r s a)) (Q s a)))
      (- (* 2 (- (T r beta P Q s a) (Q s a)) h) (^ h 2))))))))

(claim eq:BC.p-hat
  (given (q (list A real)))
  (printed (all a A (= (/ (q a) (sum b A (q b))) (choice q a))))
  (corrected (and
    (= (sum a A (choice q a)) 1)
    (all a A (all b A (= (- (log (choice q a)) (log (choice q b))) (- (q a) (q b))))))))

(claim app.pi-star-ratio
  (given (beta discount) (r (list S (list A real))) (P (list S (list A (distribution S))))
         (Q (list S (list A real))))
  (assume (all s S (all a A (= (Q s a) (T r beta P Q s a)))))
  (printed (all s S (all a A (= (/ (Q s a) (sum b A (Q s b))) (choice (Q s) a)))))
  (corrected (all s S (= (V (Q s)) (sum a A (* (choice (Q s) a)
    (- (T r beta P Q s a) (log (choice (Q s) a)))))))))

(claim eq:expzeta
  ; d is the expert's discounted occupancy, Qstar his Q*; zeta minimises over the anchor pairs
  (given (beta discount) (r (list S (list A real))) (P (list S (list A (distribution S))))
         (nu (distribution S)) (Qstar (list S (list A real))) (d (list S (list A nonnegative)))
         (anchor (index A)) (Q (list S (list A real))) (zeta (list S (list A real))))
  (assume
    (all s S (all a A (= (Qstar s a) (T r beta P Qstar s a))))
    (all s S (all a A (= (d s a) (* (choice (Qstar s) a) (+ (* (- 1 beta) (nu s))
      (* beta (sum u S (sum c A (* (d u c) (P u c s))))))))))
    (all s S (implies (> (d s anchor) 0) (= (zeta s anchor) (next P Q s anchor)))))
  (printed (<=
    (- (sum s S (sum a A (* (d s a) (spread P Q s a (zeta s a)))))
       (sum s S (sum a A (* (d s a) (spread P Q s a (next P Q s a))))))
    0))
  (corrected (<=
    (sum s S (* (d s anchor) (spread P Q s anchor (next P Q s anchor))))
    (sum s S (* (d s anchor) (spread P Q s anchor (zeta s anchor)))))))

(claim intro.reward-no-extra-cost
  ; a pair seen once: the successors' chances and values V*; r-hat = Q*(s, a) - beta V*(s')
  (given (beta discount) (chance (distribution n)) (v (list n real)) (q real) (r real))
  (assume (= q (+ r (* beta (dot chance v)))))
  (printed (<= (sum i n (* (chance i) (^ (- (- q (* beta (v i))) r) 2))) 0))
  (corrected (and
    (= (sum i n (* (chance i) (- (- q (* beta (v i))) r))) 0)
    (= (sum i n (* (chance i) (^ (- (- q (* beta (v i))) r) 2)))
       (* (^ beta 2) (- (sum i n (* (chance i) (^ (v i) 2))) (^ (dot chance v) 2)))))))

(claim intro.true-parameter
  ; Q = Phi theta on S x A; theta is where gradients lead from the start
  (given (Phi (list M (list d real))) (truth (list d real)) (start (list d real))
         (steps (list M real)) (theta (list d real)))
  (assume
    (= (rank Phi) M)
    (all j d (= (theta j) (+ (start j) (sum i M (* (Phi i j) (steps i))))))
    (all i M (= (dot (Phi i) theta) (dot (Phi i) truth))))
  (printed (= (largest j d (abs (- (theta j) (truth j)))) 0))
  (corrected (and
    (>= d (rank Phi))
    (<= (sum j d (^ (- (theta j) (start j)) 2)) (sum j d (^ (- (truth j) (start j)) 2)))))
  (step "The risk depends on theta through Phi theta, so its gradients are combinations of the rows
    of Phi, and a minimiser has Phi theta = Q*."))

(claim remark.full-column-rank
  ; the gradients of Q_theta over S x A, and which of these pairs are the points of Z_Q
  (given (all-rows (list n (list d real))) (points (list M (index n))))
  (assume
    (= (rank all-rows) d)
    (all j M (all i j (> (abs (- (points i) (points j))) 0))))
  (printed (>= (rank (vec i M (all-rows (points i)))) M))
  (corrected (and
    ; one more point with a gradient already there ends (ii), and not the first condition
    (< (rank (vec i (+ M 1) (all-rows (points (if (< i M) i 0))))) (+ M 1))
    ; a parameter without use ends the first condition, and leaves the rank that (ii) is about
    (< (rank (vec i n (vec j (+ d 1) (if (< j d) (all-rows i j) 0)))) (+ d 1))
    (= (rank (vec i M (vec j (+ d 1) (if (< j d) (all-rows (points i) j) 0))))
       (rank (vec i M (all-rows (points i))))))))

(claim intro.unique-saddle
  ; zeta* = E[V*(s')]; d is the expert's discounted occupancy
  (given (beta discount) (r (list S (list A real))) (P (list S (list A (distribution S))))
         (nu (distribution S)) (anchor (index A)) (Q (list S (list A real)))
         (d (list S (list A nonnegative))) (other (list S (list A real))))
  (assume
    (all s S (all a A (= (Q s a) (T r beta P Q s a))))
    (all s S (all a A (= (d s a) (* (choice (Q s) a) (+ (* (- 1 beta) (nu s))
      (* beta (sum u S (sum c A (* (d u c) (P u c s)))))))))))
  (printed (>=
    (objective d anchor r beta P other (vec s S (vec a A (next P Q s a))))
    (objective d anchor r beta P Q (vec s S (vec a A (next P Q s a))))))
  (corrected (>=
    (objective d anchor r beta P other (vec s S (vec a A (next P other s a))))
    (objective d anchor r beta P Q (vec s S (vec a A (next P Q s a)))))))

(claim lem:logsumexp_Shannon.proof-step
  ; q = softmax(x / tau); G(q) = <q, x> - tau sum_i q_i log q_i, differentiated in l_i = log q_i
  (given (x (list n real)) (tau positive))
  (printed (all i n (= (let (l (vec j n (- (/ (x j) tau) (V (vec k n (/ (x k) tau))))))
    (/ ((grad (fn (u) (sum j n (* (exp (u j)) (- (x j) (* tau (u j)))))) l) i) (exp (l i))))
    0)))
  (corrected (all i n (= (let (l (vec j n (- (/ (x j) tau) (V (vec k n (/ (x k) tau))))))
    (/ ((grad (fn (u) (sum j n (* (exp (u j)) (- (x j) (* tau (u j)))))) l) i) (exp (l i))))
    (- (* tau (V (vec k n (/ (x k) tau)))) tau)))))

(claim related.polyhedral
  ; two rewards of a linear family and the V that solve their equations; their mixture
  (given (beta discount) (P (list S (list A (distribution S)))) (r1 (list S (list A real)))
         (r2 (list S (list A real))) (V1 (list S real)) (V2 (list S real)) (weight share))
  (assume
    (all s S (= (V1 s) (V (vec a A (+ (r1 s a) (* beta (ahead P V1 s a)))))))
    (all s S (= (V2 s) (V (vec a A (+ (r2 s a) (* beta (ahead P V2 s a))))))))
  (printed (all s S (=
    (+ (* weight (V1 s)) (* (- 1 weight) (V2 s)))
    (V (vec a A (+ (* weight (r1 s a)) (* (- 1 weight) (r2 s a))
      (* beta (ahead P (vec t S (+ (* weight (V1 t)) (* (- 1 weight) (V2 t)))) s a))))))))
  (corrected (all s S (>=
    (+ (* weight (V1 s)) (* (- 1 weight) (V2 s)))
    (V (vec a A (+ (* weight (r1 s a)) (* (- 1 weight) (r2 s a))
      (* beta (ahead P (vec t S (+ (* weight (V1 t)) (* (- 1 weight) (V2 t)))) s a)))))))))

(claim rem:counterfactual-without-P
  ; C is the stationary point of conservative Q-learning on the data relabelled with r + Delta, N
  ; the changed world's Q*
  (given (beta discount) (r (list S (list A real))) (P (list S (list A (distribution S))))
         (Delta (list S (list A real))) (alpha nonnegative) (Q (list S (list A real)))
         (N (list S (list A real))) (C (list S (list A real))))
  (assume
    (all s S (all a A (= (Q s a) (T r beta P Q s a))))
    (all s S (all a A (= (N s a) (+ (Delta s a) (T r beta P N s a)))))
    (all s S (all a A (= (C s a) (- (+ (Delta s a) (T r beta P C s a))
      (* alpha (- (/ (choice (C s) a) (choice (Q s) a)) 1)))))))
  (printed (all s S (all a A (= (choice (C s) a) (choice (N s) a)))))
  (corrected (and
    (all s S (= 0 (sum a A (* (choice (Q s) a)
      (- (+ (Delta s a) (T r beta P C s a)) (C s a))))))
    (implies (= alpha 0) (all s S (all a A (= (choice (C s) a) (choice (N s) a))))))))

(claim lem:anchor_overlap_logit.finite-horizon
  ; distribution h is that of s_h under pi* = choice(Q*); H periods of data
  (given (beta discount) (r (list S (list A real))) (P (list S (list A (distribution S))))
         (anchor (list S (index A))) (Q (list S (list A real))) (H count)
         (states (list H1 (distribution S))))
  (assume
    (> H 0)
    (= H1 (+ H 1))
    (all s S (all a A (= (Q s a) (T r beta P Q s a))))
    (all h H (all t S (= (states (+ h 1) t)
      (sum s S (sum a A (* (states h s) (choice (Q s) a) (P s a t))))))))
  (printed (all y S
    (let (nu (/ (sum h H (sum s S (* (states h s) (P s (anchor s) y)))) H))
      (implies (> nu 0) (>= (/ (/ (sum h H (states h y)) H) nu)
        (/ (exp (* -2 (farthest Q (vec s S (vec a A 0))))) A))))))
  (corrected (all y S
    (let (nu (/ (sum h H (sum s S (* (states h s) (P s (anchor s) y)))) H))
      (>= (/ (- (+ (sum h H (states h y)) (states H y)) (states 0 y)) H)
          (* nu (/ (exp (* -2 (farthest Q (vec s S (vec a A 0))))) A)))))))

; --- Section 6 and the technical proofs: theta is the table itself, row by row, where it is a list

(claim prop:linConvergence.two-sided-PL
  (data (beta discount) (n (list S (list A (list S count)))) (anchor (list S (index A)))
        (r (list S real)) (radius-squared positive))
  (some (mu positive))
  (given (zeta (list S real)) (theta (list d real)) (other (list d real)))
  (assume ; the balls B_Q and B_zeta around 0 are chosen before mu
    (= d (* S A))
    (<= (dot theta theta) radius-squared)
    (<= (dot other other) radius-squared)
    (<= (dot zeta zeta) radius-squared))
  (printed (let (f (fn (u) (f-hat n anchor r beta (vec s S (vec a A (u (+ (* s A) a)))) zeta)))
    (let (slope (grad f theta))
      (>= (* 1/2 (dot slope slope)) (* mu (- (f theta) (f other)))))))
  (corrected ; along a common shift of Q the objective is a parabola, whatever zeta is
    (let (f (fn (u) (f-hat n anchor r beta (vec s S (vec a A (u (+ (* s A) a)))) zeta)))
      (= (- (+ (f (vec i d (+ (theta i) 1))) (f (vec i d (- (theta i) 1)))) (* 2 (f theta)))
         (/ (* 2 (- 1 (* 2 beta)) (sum s S (visits n s (anchor s)))) (size n))))))

(claim prop:linConvergence.single-stepsize
  ; one state, one action, Q = theta, zeta = scale phi; the steps are linearised at the solution 0
  ; with the same stepsize for both: the larger real part of the two rates
  (given (beta discount) (scale real))
  (printed
    (let (h (hess (fn (u) (one-pair beta (u 0) (* scale (u 1)))) origin))
      (let (trace (- (h 1 1) (h 0 0)))
        (let (det (- (* (h 0 1) (h 1 0)) (* (h 0 0) (h 1 1))))
          (<= (/ (+ trace (root (larger 0 (- (^ trace 2) (* 4 det))))) 2) 0)))))
  (corrected ; with tau_phi = (18 l^2 / mu_2^2) tau_theta, l^2 <= the sum of squares, neither grows
    (let (h (hess (fn (u) (one-pair beta (u 0) (* scale (u 1)))) origin))
      (let (ratio (/ (* 18 (+ (dot (h 0) (h 0)) (dot (h 1) (h 1)))) (^ (h 1 1) 2)))
        (and (<= (- (* ratio (h 1 1)) (h 0 0)) 0)
             (>= (* ratio (- (* (h 0 1) (h 1 0)) (* (h 0 0) (h 1 1)))) 0)))))
  (step "One step with eta_t = c_1 / (c_2 + t) multiplies the mode by 1 + rate eta_t, and the
    product of these diverges. With phi^3 added to zeta, which leaves the second derivatives at 0
    as they are, a ball holds the iterates: that is computed by the check."))

(claim prop:linConvergence.strong-concavity
  (data (beta discount) (n (list S (list A (list S count)))) (anchor (list S (index A)))
        (Q (list S (list A real))) (features (list S (list d real))) (pairs (list B (index S))))
  (some (rho positive))
  (given (phi (list d real)) (other (list d real)))
  (assume ; (iii) on the anchor pairs of the data, at the states `pairs`
    (all i B (> (visits n (pairs i) (anchor (pairs i))) 0))
    (= B (sum s S (if (> (visits n s (anchor s)) 0) 1 0)))
    (= (rank (vec i B (features (pairs i)))) B)
    (> (sum i d (^ (- (phi i) (other i)) 2)) 0))
  (printed (let (f (fn (u) (regression n anchor beta Q (vec s S (dot (features s) u)))))
    (>= (f (vec i d (/ (+ (phi i) (other i)) 2)))
        (+ (/ (+ (f phi) (f other)) 2) (* (/ rho 8) (sum i d (^ (- (phi i) (other i)) 2)))))))
  (corrected ; in the outputs, with 2 beta^2 min_j m_j / N, here for the pair j of each i
    (let (f (fn (u) (regression n anchor beta Q (vec s S (dot (features s) u)))))
      (>= (- (f (vec i d (/ (+ (phi i) (other i)) 2))) (/ (+ (f phi) (f other)) 2))
          (* (/ (^ beta 2) 4)
             (/ (- (largest i B (- (visits n (pairs i) (anchor (pairs i)))))) (size n))
             (sum i B (^ (- (dot (features (pairs i)) phi) (dot (features (pairs i)) other)) 2)))))))

(claim lem:lipsSmooth.hessian-of-V
  ; Q(s, .) = q + G theta; along a unit vector h, so the difference is zero only if it is for all h
  (given (q (list A real)) (G (list A (list d real))) (h (list d real)))
  (assume (= (dot h h) 1))
  (printed (= (abs (-
    (quadratic (hess (fn (u) (V (affine q G u))) (vec i d 0)) h)
    (sum a A (* (choice q a) (- 1 (choice q a)) (^ (dot (G a) h) 2))))) 0))
  (corrected (=
    (quadratic (hess (fn (u) (V (affine q G u))) (vec i d 0)) h)
    (- (sum a A (* (choice q a) (^ (dot (G a) h) 2)))
       (^ (sum a A (* (choice q a) (dot (G a) h))) 2)))))

(claim lem:lipsSmooth.NLL-bound
  ; Q(s, a) = q + slopes' u + u' bends u / 2; B_2 bounds the Frobenius norm of bends, which is the
  ; larger; h is a unit vector, so |h' Hess h| is at most the norm of the Hessian
  (given (n (list S (list A (list S count)))) (q (list S (list A real)))
         (slopes (list S (list A (list d real))))
         (bends (list S (list A (list d (list d real))))) (h (list d real)) (B nonnegative)
         (B2 nonnegative))
  (assume
    (= (dot h h) 1)
    (all s S (all a A (<= (dot (slopes s a) (slopes s a)) (^ B 2))))
    (all s S (all a A (<= (sum i d (dot (bends s a i) (bends s a i))) (^ B2 2)))))
  (printed (<=
    (abs (quadratic (hess (fn (u) (nll n (curved q slopes bends u))) (vec i d 0)) h))
    (+ (* 2 B2) (* (/ A 4) (^ B 2)))))
  (corrected (<=
    (abs (quadratic (hess (fn (u) (nll n (curved q slopes bends u))) (vec i d 0)) h))
    (+ (* 2 B2) (^ B 2)))))

(claim lem:EmpLipschitz
  ; Q = q + slopes' u for u in the hull of corners, of which u = 0 is the one with these weights
  (given (beta discount) (n (list S (list A (list S count)))) (anchor (list S (index A)))
         (r (list S real)) (largest-reward nonnegative) (q (list S (list A real)))
         (slopes (list S (list A (list d real)))) (corners (list C (list d real)))
         (weights (distribution C)) (B nonnegative) (M nonnegative))
  (assume
    (all s S (all a A (<= (dot (slopes s a) (slopes s a)) (^ B 2))))
    (all s S (implies (> (visits n s (anchor s)) 0) (<= (abs (r s)) largest-reward)))
    (is-average weights corners)
    (bounds M largest-reward beta (vec c C (straight q slopes (corners c)))))
  (printed (<=
    (norm (grad (fn (u) (r-emp n anchor r beta (straight q slopes u))) (vec i d 0)))
    (* (+ 1 (* 2 M (+ 1 beta))) B)))
  (corrected (<=
    (norm (grad (fn (u) (r-emp n anchor r beta (straight q slopes u))) (vec i d 0)))
    (* (+ 2 (* 2 M (+ 1 beta))) B))))

(claim lem:lipsSmooth.L-theta
  ; as above, with curvature B_2 as in NLL-bound
  (given (beta discount) (n (list S (list A (list S count)))) (anchor (list S (index A)))
         (r (list S real)) (largest-reward nonnegative) (q (list S (list A real)))
         (slopes (list S (list A (list d real))))
         (bends (list S (list A (list d (list d real))))) (corners (list C (list d real)))
         (weights (distribution C)) (h (list d real)) (B nonnegative) (B2 nonnegative)
         (M nonnegative))
  (assume
    (= (dot h h) 1)
    (all s S (all a A (<= (dot (slopes s a) (slopes s a)) (^ B 2))))
    (all s S (all a A (<= (sum i d (dot (bends s a i) (bends s a i))) (^ B2 2))))
    (all s S (implies (> (visits n s (anchor s)) 0) (<= (abs (r s)) largest-reward)))
    (implies (> B2 0) (= C 1)) ; else the class's largest values need not be those of corners
    (is-average weights corners)
    (bounds M largest-reward beta (vec c C (curved q slopes bends (corners c)))))
  (printed (<=
    (abs (quadratic (hess (fn (u) (r-emp n anchor r beta (curved q slopes bends u)))
      (vec i d 0)) h))
    (+ (* 2 B2) (* (/ A 4) (^ B 2)) (* 2 (+ 1 (* 2 beta)) M B2)
       (* (+ (* 2 (^ (+ 1 beta) 2)) (* (/ (* beta A) 2) M)) (^ B 2)))))
  (corrected (<=
    (abs (quadratic (hess (fn (u) (r-emp n anchor r beta (curved q slopes bends u)))
      (vec i d 0)) h))
    (+ (* 2 B2) (^ B 2) (* 2 (^ (+ 1 beta) 2) (^ B 2))
       (* 2 M (+ (* (+ 1 beta) B2) (* beta (^ B 2))))))))

(claim lem:lipsSmooth.L-zeta
  ; the only part of R_emp that depends on zeta
  (given (beta discount) (n (list S (list A (list S count)))) (anchor (list S (index A)))
         (Q (list S (list A real))) (first (list S real)) (second (list S real)))
  (printed (let (f (fn (zeta) (regression n anchor beta Q zeta)))
    (<= (norm (vec s S (- ((grad f first) s) ((grad f second) s))))
        (* beta (norm (vec s S (- (first s) (second s))))))))
  (corrected (let (f (fn (zeta) (regression n anchor beta Q zeta)))
    (<= (norm (vec s S (- ((grad f first) s) ((grad f second) s))))
        (* 2 (^ beta 2) (norm (vec s S (- (first s) (second s)))))))))

(claim sec:occupancy.conclusion
  ; pi is pi*, rival has the same occupancy d; Q is Q^rival; a pair's reward is read off wrongly
  ; where r differs from Q - beta E_pi[Q(s', a')]
  (given (beta discount) (r (list S (list A real))) (P (list S (list A (distribution S))))
         (nu (distribution S)) (pi (list S (distribution A))) (rival (list S (distribution A)))
         (d (list S (list A nonnegative))) (Q (list S (list A real))))
  (assume
    (all s S (all a A (= (Q s a) (+ (r s a) (* beta (ahead P (of-policy rival Q) s a))))))
    (all s S (let (flow (+ (* (- 1 beta) (nu s))
        (* beta (sum u S (sum c A (* (d u c) (P u c s)))))))
      (all a A (and (= (d s a) (* (pi s a) flow)) (= (d s a) (* (rival s a) flow))))))
    ; where rival misreads nothing, it is the only policy with this occupancy
    (implies (= (misread r beta P pi Q) 0) (all s S (visited d s))))
  (printed (>= (misread r beta P pi Q) 1))
  (corrected (all s S (all a A (implies (> (d s a) 0)
    (= (r s a) (- (Q s a) (* beta (ahead P (of-policy pi Q) s a))))))))
  (step "No other policy than pi has the occupancy d where d gives every state weight:
    pi(a | s) = d(s, a) / d(s)."))

; --- the tables, which prelude.lisp has: half a unit of the last printed digit either way

(claim tab.mlirl-r-versus-Q
  ; n is 0 with 50 trajectories, 1 with 1,000; theta are parameters of a linear reward
  (given (n (index 2)) (theta (list 2 real)))
  (printed (<= (largest-residual (r-mlirl n) (q-mlirl n))
    (+ (* half-unit (+ 2 bus-discount)) single-precision)))
  (corrected (<= ; Q solves the equation at other parameters than those of r
    (largest-residual (vec x 10 (list (* -1 (theta 0) (+ x 1)) (- (theta 1)))) (q-mlirl n))
    (+ (* half-unit (+ 1 bus-discount)) single-precision))))

(claim tab.gladius-r-versus-Q
  ; method is 0 for GLADIUS, 1 for Rust, 2 for ML-IRL; the claim is about the first
  (given (n (index 2)) (method (index 3)))
  (assume (implies (> (largest-residual (r-of method n) (q-of method n))
                      (+ (* half-unit (+ 2 bus-discount)) single-precision))
                   (= method 0)))
  (printed (<= (largest-residual (r-of method n) (q-of method n))
    (+ (* half-unit (+ 2 bus-discount)) single-precision)))
  (corrected (all x 10 (all a 2 (implies (< (if (= a 1) 0 x) 6)
    (<= (+ (abs (residual (r-of method n) (q-of method n) x a)) (* half-unit (+ 2 bus-discount)))
        (* 0.007 (abs (r-of method n x a)))))))))

(claim tab.mape-from-tables
  (given (n (index 2)) (method (index 3)))
  (printed (<= (mape 10 0 2 n (r-of method n) -1) (+ (table-2 method n 0) half-reported)))
  (corrected (and ; one repetition, at most 1.96 standard deviations from the mean
    (<= (- (mape 10 0 2 n (r-of method n) 1) (- (table-2 method n 0) half-reported))
        (* 1.96 (- (table-2 method n 1) half-reported)))
    (<= (- (+ (table-2 method n 0) half-reported) (mape 10 0 2 n (r-of method n) -1))
        (* 1.96 (- (table-2 method n 1) half-reported))))))

(claim text.who-is-better-where
  ; mileages 1 to 5: GLADIUS's error at least, an oracle's at most; oracle is 1 or 2, as above
  (given (n (index 2)) (oracle (index 3)))
  (assume (> oracle 0))
  (printed (<= (mape 5 0 2 n (r-gladius n) -1) (mape 5 0 2 n (r-of oracle n) 1)))
  (corrected ; better where the machine is replaced, worse where it is maintained
    (and (< (mape 5 1 2 n (r-gladius n) 1) (mape 5 1 2 n (r-of oracle n) -1))
         (> (mape 5 0 1 n (r-gladius n) -1) (mape 5 0 1 n (r-of oracle n) 1)))))

(claim text.action-zero
  ; Section 7.1: the replacement costs theta-1 = 5 at every mileage; here at mileage x + 1
  (given (x (index 10)))
  (printed (= (r-true x 0) -5))
  (corrected (and (= (r-true x 1) -5)
    (<= (abs (- (q-true x 1) (- (* bus-discount (V (q-true 0))) 5))) (* 2 half-unit)))))

(claim text.state-space-size
  ; K dummies with values -limit, ..., limit, and the powers of ten that are printed
  (given (limit count) (K count))
  (printed (= (/ (* K (log (+ limit limit 1))) (log 10)) (/ (* K (log 20)) (log 10))))
  (corrected (= (/ (* K (log (+ limit limit 1))) (log 10)) (/ (* K (log 21)) (log 10)))))

(claim text.bc-consistently-better
  ; i is a row of Table 4
  (given (i (index 15)))
  (printed (>= (* (returns-sign i) (- (returns-bc i) (returns-erm-irl i))) 0))
  (corrected (let (leads (vec j 15 (* (returns-sign j) (- (returns-bc j) (returns-erm-irl j)))))
    (and (= 8 (sum j 15 (if (> (leads j) 0) 1 0)))
         (= 2 (sum j 15 (if (< (leads j) 0) 1 0)))))))

; --- with a written step

(claim setup.reachable-set
  ; d is the expert's discounted occupancy of cells of states, and piece that of in-s-bar
  (data (beta discount) (r (list S (list A real))) (P (list S (list A (distribution S))))
        (nu (distribution S)) (Q (list S (list A real))) (d (list S (list A nonnegative))))
  (some (c positive))
  (given (piece (list S share)))
  (assume
    (all s S (all a A (= (Q s a) (T r beta P Q s a))))
    (all s S (all a A (= (d s a) (* (choice (Q s) a) (+ (* (- 1 beta) (nu s))
      (* beta (sum u S (sum b A (* (d u b) (P u b s)))))))))))
  (printed (= (sum s S (if (in-s-bar d piece c s) (sum a A (d s a)) 0)) 1))
  (corrected (= (sum s S (sum a A (d s a))) 1))
  (by-hand "A uniform distribution gives an interval around a state the probability that is its
    length, and the state itself none. So S-bar has none of the states of [0, 1]."))

(claim thm:MagnacThesmar
  ; d is the expert's discounted occupancy; `other` solves the printed system on S-bar
  (data (beta discount) (r (list S (list A real))) (P (list S (list A (distribution S))))
        (nu (distribution S)) (anchor (list S (index A))) (Q (list S (list A real)))
        (d (list S (list A nonnegative))) (other (list S (list A real))))
  (some (c positive))
  (given (piece (list S share)))
  (assume
    (all s S (all a A (= (Q s a) (T r beta P Q s a))))
    (all s S (all a A (= (d s a) (* (choice (Q s) a) (+ (* (- 1 beta) (nu s))
      (* beta (sum u S (sum b A (* (d u b) (P u b s))))))))))
    (all s S (implies (in-s-bar d piece c s) (and
      (= (other s (anchor s)) (T r beta P other s (anchor s)))
      (all a A (= (choice (other s) a) (choice (Q s) a)))))))
  (printed (= (farthest-in-s-bar d piece c other Q) 0))
  (corrected ; where the system holds in every state that is reached, it has no other solution
    (implies
      (all s S (and (= (other s (anchor s)) (T r beta P other s (anchor s)))
                    (all a A (= (choice (other s) a) (choice (Q s) a)))))
      (= (farthest other Q) 0)))
  (by-hand "The second state stands for (0, 1], entered uniformly: none of its states has a positive
    probability, so S-bar = {0}, and the printed system asks nothing of them."))

(claim lem:minMLE
  ; d is the expert's discounted occupancy, and piece that of in-s-bar
  (data (beta discount) (r (list S (list A real))) (P (list S (list A (distribution S))))
        (nu (distribution S)) (Q (list S (list A real))) (d (list S (list A nonnegative)))
        (member (list S (list A real))))
  (some (c positive))
  (given (piece (list S share)))
  (assume
    (all s S (all a A (= (Q s a) (T r beta P Q s a))))
    (all s S (all a A (= (d s a) (* (choice (Q s) a) (+ (* (- 1 beta) (nu s))
      (* beta (sum u S (sum b A (* (d u b) (P u b s))))))))))
    (all s S (all a A (implies (in-s-bar d piece c s)
      (= (choice (member s) a) (choice (Q s) a))))))
  (printed (= (abs (- (sum s S (sum a A (* (d s a) (- (V (member s)) (member s a)))))
                      (sum s S (sum a A (* (d s a) (- (V (Q s)) (Q s a))))))) 0))
  (corrected (=
    (- (sum s S (sum a A (* (d s a) (- (V (member s)) (member s a)))))
       (sum s S (sum a A (* (d s a) (- (V (Q s)) (Q s a))))))
    (sum s S (* (sum a A (d s a)) (sum a A (* (choice (Q s) a)
      (- (log (choice (Q s) a)) (log (choice (member s) a)))))))))
  (by-hand "The second state stands for (0, 1], entered uniformly: none of its states has a positive
    probability, so S-bar = {0}."))

(claim def:ERM.continuous-states
  ; rows i with different (s, a): gap = r - Q, and V(s') is mean + noise or mean - noise, each by
  ; 1/2; zeta-bar interpolates, so V(s') - zeta-bar = 0
  (given (beta discount) (gap (list n real)) (mean (list n real)) (noise (list n nonnegative)))
  (printed (=
    (/ (sum i n (/ (+ (^ (+ (gap i) (* beta (+ (mean i) (noise i)))) 2)
                      (^ (+ (gap i) (* beta (- (mean i) (noise i)))) 2)) 2)) n)
    (/ (sum i n (^ (+ (gap i) (* beta (mean i))) 2)) n)))
  (corrected (=
    (/ (sum i n (/ (+ (^ (+ (gap i) (* beta (+ (mean i) (noise i)))) 2)
                      (^ (+ (gap i) (* beta (- (mean i) (noise i)))) 2)) 2)) n)
    (/ (sum i n (+ (^ (+ (gap i) (* beta (mean i))) 2) (^ (* beta (noise i)) 2))) n)))
  (step "States with a density do not repeat, so the minimiser over all functions of (s, a) is
    zeta-bar(s_i, a_i) = V(s'_i), row by row."))

(claim alg:estimation1.is-GDA
  ; Q = phi theta and zeta = chi eta on S x A; the ascent's step on all of D, and how far it is from
  ; the ray of the gradient of f-hat_N, of which only the auxiliary term depends on eta
  (given (beta discount) (n (list S (list A (list S count)))) (anchor (list S (index A)))
         (phi (list M (list d real))) (chi (list M (list k real))) (theta (list d real))
         (eta (list k real)))
  (assume (= M (* S A)) (= (rank phi) M) (= (rank chi) M))
  (printed (let (Q (rows S A (straight-rows phi theta)))
    (= (off-ray
         (grad (fn (u) (- (sum s S (sum a A (sum t S (* (n s a t)
           (^ (- (V (Q t)) (dot (chi (+ (* s A) a)) u)) 2))))))) eta)
         (grad (fn (u) (regression n anchor beta Q
           (vec s S (dot (chi (+ (* s A) (anchor s))) u)))) eta))
       0)))
  (corrected ; with the indicator of the anchor in D it is N / beta^2 times the gradient
    (let (Q (rows S A (straight-rows phi theta)))
      (let (step (grad (fn (u) (- (sum s S (sum t S (* (n s (anchor s) t)
                   (^ (- (V (Q t)) (dot (chi (+ (* s A) (anchor s))) u)) 2)))))) eta))
        (let (ray (grad (fn (u) (regression n anchor beta Q
                    (vec s S (dot (chi (+ (* s A) (anchor s))) u)))) eta))
          (all i k (= (step i) (* (/ (size n) (^ beta 2)) (ray i)))))))))

(claim exp.jacobian-condition
  ; inputs, units in each of two hidden layers, and outputs of the network; M points of Z_Q
  (given (inputs count) (hidden count) (outputs count) (M count))
  (assume ; mileages alone give 40 points at most; others are those of the design with K = 2
    (implies (> M 40) (and (= inputs 3) (= hidden 10) (= outputs 2) (= M 7456))))
  (printed (let (d (+ (* (+ inputs 1) hidden) (* (+ hidden 1) (+ hidden outputs))))
    (= (- (larger (- d) (- M))) M)))
  (corrected (< (+ (* (+ inputs 1) hidden) (* (+ hidden 1) (+ hidden outputs))) M))
  (step "The rank of J_Q is at most d, its number of columns; M, twice the number of distinct
    states, is counted in simulated data of the paper's design with K = 2."))

(claim prop:linConvergence.quadratic-growth
  (data (beta discount) (n (list S (list A (list S count)))) (anchor (list S (index A)))
        (r (list S real)) (Phi (list M (list d real))) (radius-squared real))
  (some (c positive))
  (given (theta (list d real)) (near (list d real)) (p positive))
  (assume
    (= M (* S A))
    (= (rank Phi) M)
    (<= (dot theta theta) radius-squared)
    (= (dot near near) radius-squared)
    ; and, being a combination of the rows of Phi, the only minimiser in the ball
    (= (rank (vec i (+ M 1) (if (< i M) (Phi i) near))) M)
    ; near is a minimiser: the likelihood is as large, and the Bellman error as small, as can be
    (let (Q (rows S A (straight-rows Phi near)))
      (all s S (and
        (all a A (= (* (choice (Q s) a) (sum b A (visits n s b))) (visits n s a)))
        (= (Q s (anchor s)) (+ (r s) (* beta ((zeta-bar n anchor Q) s)))))))
    ; one state, and p is below every choice probability where the risk is at most that of theta
    (= S 1)
    (all a A (<= (log p) (- (/ (* (size n) (risk-q n anchor r beta (rows S A (straight-rows Phi theta))))
      (visits n 0 a))))))
  (printed
    (>= (- (risk-q n anchor r beta (rows S A (straight-rows Phi theta)))
           (risk-q n anchor r beta (rows S A (straight-rows Phi near))))
        (* c (sum i d (^ (- (theta i) (near i)) 2)))))
  (corrected ; Theorem bothPL's constant with one state, for the distance to all minimisers
    (>= (- (risk-q n anchor r beta (rows S A (straight-rows Phi theta)))
           (risk-q n anchor r beta (rows S A (straight-rows Phi near))))
        (* (- (larger
               (- (/ p (* 4 (+ 1 (/ (* A (^ (+ 1 beta) 2)) (^ (- 1 beta) 2))))))
               (- (/ (^ (- 1 beta) 2) A))))
           (sum i M (^ (- (dot (Phi i) theta) (dot (Phi i) near)) 2)))))
  (step "Minimisers have the same Phi theta. Of these near is the shortest, as it is a combination
    of the rows of Phi, and as long as the ball allows: the only one in the ball, so the nearest."))

(claim alg:estimation1.bookkeeping
  ; lines 1 and 2 and the last of the loop, where every name starts at 1; batches of D and of the
  ; descent's two losses in the box, of ascent and descent in the text; parameters of Q and zeta
  (given (limit count) (budget count) (counted count) (tested count) (box (list 3 count))
         (text (list 2 count)) (start (list 2 count)) (closing (list 2 count)))
  (assume ; what has slips is the listing that is printed
    (implies (> (slips counted tested box text start closing) 0) (and
      (= counted 0) (= tested 1)
      (= (box 0) 2) (= (box 1) 2) (= (box 2) 1) (= (text 0) 1) (= (text 1) 2)
      (= (start 0) 2) (= (start 1) 1) (= (closing 0) 1) (= (closing 1) 2))))
  (printed (and
    (= (passes limit budget counted tested) limit)
    (= (slips counted tested box text start closing) 0)))
  (corrected (and
    (= (passes limit budget counted counted) limit)
    (= (slips counted counted (list (text 0) (text 1) (text 1)) text start start) 0))))

(claim lem:ExpofLargerGumbel
  (given (gamma real) (nu (list 2 real)))
  (printed (= (+ gamma (log (+ 1 (exp (- (nu 1) (nu 0)))))) (+ gamma (V nu))))
  (corrected (= (+ gamma (nu 0) (log (+ 1 (exp (- (nu 1) (nu 0)))))) (+ gamma (V nu))))
  (step "Which of the two is the larger says nothing of how large it is: given G_1 >= G_2, G_1 has
    the distribution of the maximum, Gumbel(V(nu), 1), whose mean is gamma + V(nu)."))

(claim rem:sub-gaussian-features
  ; one row, sqrt(1 / present) b e, b = 1 with probability present, else 0, e uniform on {-1, 1}^d;
  ; the probability that it is zero is compared with exp(-rate d), by their logarithms
  (data (present positive))
  (some (least positive) (rate positive))
  (given (d positive))
  (assume (< present 1) (>= d least))
  (printed (<= (log (- 1 present)) (- (* rate d))))
  (corrected ; the squared norm, d / present or 0, is d on average, and always d with present = 1
    (and (= (* present (/ d present)) d)
         (if (= present 1) (= (/ d present) d) (> (/ d present) d))))
  (by-hand "With present = 1/2 the row is centred, E phi phi' = I, and E exp(t u'phi) <= (1 +
    exp(t^2)) / 2 as cosh x <= exp(x^2 / 2): its norm is free of d. Where b = 0, Phi Phi' = 0. If d
    is no whole number, the next one serves as well."))

(claim prop:linConvergence.population-rate
  ; a fixed class, the steps on `cells` cells; the cells of n sampled states, of which none is
  ; sampled twice; the rows of J_Q are those of its tables, for each of A actions
  (given (cells count) (cell (list n (index cells))) (A count))
  (assume (> A 0))
  (printed (= (* A (rank (vec i n (vec j cells (if (= (cell i) j) 1 0))))) (* A n)))
  (corrected ; each cell that is visited counts once, as on a space of so many states
    (= (* A (rank (vec i n (vec j cells (if (= (cell i) j) 1 0)))))
       (* A (sum j cells (if (> (sum i n (if (= (cell i) j) 1 0)) 0) 1 0)))))
  (step "States with a density do not repeat, so n = N + 1 sampled states and A actions are A n
    points of Z_Q, for any N. Any fixed class has a number of columns, which A n exceeds from some N
    on."))

(claim prop:linConvergence.growing-class
  ; two kinds of cells, all with the same world: those with sampled states, in which `other` is
  ; Q*, and those that no gradient moves; K cells, of choice probabilities of at least p
  (given (beta discount) (r (list S (list A real))) (P (list S (list A (distribution S))))
         (nu (distribution S)) (anchor (list S (index A))) (Q (list S (list A real)))
         (d (list S (list A nonnegative))) (other (list S (list A real))) (N count) (C positive)
         (K count) (p positive))
  (assume
    (all s S (all a A (= (Q s a) (T r beta P Q s a))))
    (all s S (all a A (= (d s a) (* (choice (Q s) a) (+ (* (- 1 beta) (nu s))
      (* beta (sum u S (sum c A (* (d u c) (P u c s))))))))))
    (all s S (all a A (and (<= p (choice (Q s) a)) (<= p (choice (other s) a)))))
    (< p 1)
    (= C (/ N 10)) ; so that no C is enough if this one is too small for every N
    (implies (> (farthest other Q) 0) (and ; gradients leave theta_0 = 0 where no state is sampled
      (= S 2)
      (= K (* 2 (^ (+ N 1) 2)))
      (= (nu 0) (/ (+ N 1) K))
      (all s S (all t S (all a A (= (P s a t) (nu t)))))
      (all a A (and (= (other 0 a) (Q 0 a)) (= (other 1 a) 0))))))
  (printed (<=
    (* N (- (expected-risk d anchor r beta P other) (expected-risk d anchor r beta P Q)))
    C))
  (corrected ; the constant of K states, which grows like K^2
    (let (B (/ (- (largest s S (abs (r s (anchor s)))) (log p)) (- 1 beta)))
      (<= (* N (- (expected-risk d anchor r beta P other) (expected-risk d anchor r beta P Q)))
          (* K (+ (/ 1 (* 2 p (- 1 p))) (log 2) (* (^ (* beta B) 2) (+ (* 2 K) 4)))))))
  (by-hand "The N + 1 sampled states lie in different ones of K = 2 (N + 1)^2 cells with probability
    .79; then (ii) holds, and the gradients leave theta_0 = 0 in the others. Whatever the sample,
    their likelihood alone costs (1 - 1 / (2 N + 2)) KL(pi* || 1/2) > .0981: take N > C / .0981."))

(claim tab.frequency
  ; N trajectories, of which table n counts the pairs at mileages 1 to 10: all of them, or a fifth
  (given (n (index 2)) (N count))
  (assume (implies (> N (* 1/5 (trajectories n))) (= N (trajectories n))))
  (printed (<= (* N horizon) (+ (sum x 10 (sum a 2 (frequencies n x a)))
    (* horizon (sum k 4 (frequencies n (- 9 k) 0))))))
  (corrected ; of a fifth of the trajectories
    (let (inside (sum x 10 (sum a 2 (frequencies n x a))))
      (and (<= inside (* 1/5 N horizon))
           (<= (* 1/5 N horizon)
               (+ inside (* horizon (sum k 4 (frequencies n (- 9 k) 0))))))))
  (step "The pairs that are not in the table are at mileages above 10, which a machine reaches by
    maintenance (a0, 1 to 4 up) at the last four alone; it starts at mileage 1, where replacement
    takes it, so that each time it is there for less than 100 periods."))

(claim lem:NNenjoysPL
  ; e is zero for all affine functions of the points, as it must be if J'e = 0 for every theta
  (data (f (index 3)) (m count) (points (list M (list n real))))
  (some (mu positive))
  (given (theta (list d real)) (e (list M real)))
  (assume
    (= d (+ (* m (+ n 2)) 1))
    (all i M (all j i (> (sum k n (^ (- (points i k) (points j k)) 2)) 0)))
    (> (dot e e) 0)
    (= (sum i M (e i)) 0)
    (all k n (= (sum i M (* (e i) (points i k))) 0)))
  (printed ; e' J J' e is at least mu e' e
    (let (slope (grad (fn (u) (sum i M (* (e i) (wide f m u (points i))))) theta))
      (>= (dot slope slope) (* mu (dot e e)))))
  (corrected ; with f(x) = x the rank of J is at most n + 1, whatever the width
    (if (= f 2)
      (<= (rank (vec i M (grad (fn (u) (wide f m u (points i))) theta))) (+ n 1))
      (let (slope (grad (fn (u) (sum i M (* (e i) (wide f m u (points i))))) theta))
        (>= (dot slope slope) (* mu (dot e e))))))
  (step "f(x) = x is C^2, and with it the derivatives by v_k, w_k and c are affine in the point,
    unit by unit. So the combination e, which is zero for all affine functions of the points, is
    zero for all weights and widths: J J' is singular at every theta."))

(claim lem:erm_ddc_quant_identification
  ; kappa is at least the Frobenius norm of (I - beta P_a)^-1 on L2(d*_S), and so its norm; p is at
  ; most the anchor's probabilities, l at least |log pi_Q - log pi*|
  (given (beta discount) (r (list S (list A real))) (P (list S (list A (distribution S))))
         (nu (distribution S)) (anchor (list S (index A))) (Qstar (list S (list A real)))
         (d (list S (list A nonnegative))) (Q (list S (list A real))) (C positive)
         (inverse (list S (list S real))) (kappa positive) (p positive) (l positive))
  (assume
    (all s S (all a A (= (Qstar s a) (T r beta P Qstar s a))))
    (all s S (all a A (= (d s a) (* (choice (Qstar s) a) (+ (* (- 1 beta) (nu s))
      (* beta (sum u S (sum c A (* (d u c) (P u c s))))))))))
    (all s S (all t S (= (if (= s t) 1 0)
      (- (inverse s t) (* beta (sum u S (* (P s (anchor s) u) (inverse u t))))))))
    (<= (sum s S (sum t S (/ (* (sum a A (d s a)) (^ (inverse s t) 2)) (sum a A (d t a)))))
        (^ kappa 2))
    (all s S (>= (choice (Qstar s) (anchor s)) p))
    (all s S (all a A (<= (abs (log (/ (choice (Q s) a) (choice (Qstar s) a)))) l)))
    ; the chain 0, ..., S - 1 at t = .9^(S - 1), and a C that grows with it
    (= beta 9/10)
    (= A 2)
    (= (nu 0) 1)
    (all s S (and
      (= (anchor s) 0)
      (= (P s 0 (if (< s (- S 1)) (+ s 1) s)) 1)
      (= (P s 1 0) 1)
      (all a A (and (= (Qstar s a) 0) (= (Q s a) (^ 9/10 (- S 1 s)))))))
    (>= C (* 80 (^ 9/5 (- S 1)))))
  (printed (<=
    (sum s S (sum a A (* (d s a) (^ (- (Q s a) (Qstar s a)) 2))))
    (* C (- (expected-risk d anchor r beta P Q) (expected-risk d anchor r beta P Qstar)))))
  (corrected (<=
    (sum s S (sum a A (* (d s a) (^ (- (Q s a) (Qstar s a)) 2))))
    (* (+ (/ (^ kappa 2) p)
          (/ (^ (+ (/ kappa (root p)) 1) 2) (/ (+ (exp (- l)) -1 l) (^ l 2))))
       (- (expected-risk d anchor r beta P Q) (expected-risk d anchor r beta P Qstar)))))
  (by-hand "The states from N on of a chain 0, 1, 2, ... are its last one, Q being 1 at all of them:
    Q(n, a) = g(t .9^-n) at t = .9^N, where g is smooth, g(y) = y up to .9 and 1 from 1 on. The
    ratio of the sides grows like 1.8^N as t = .9^N -> 0, for one world and one class: no C is
    enough."))
