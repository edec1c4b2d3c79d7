; What the paper prints and what to write instead, in the language of verify.py. `some`: constants
; of which the paper says that they exist; the statement is then refuted for every value.

(claim lem:telescoping
  ; Q is Q^pi, d is d^pi given the first pair, normalised by 1 - beta
  (given (beta discount) (r (table S A)) (P (kernel S A)) (pi (policy S A)) (f (table S A))
         (s0 (index S)) (a0 (index A)) (Q (table S A)) (d (list S (list A nonnegative))))
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
  (given (beta discount) (h count) (r (table S A)) (P (kernel S A)) (pi (policy S A))
         (W (list S real)))
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
  (some (M positive))
  (given (beta discount) (r (table S A)) (P (kernel S A)) (Q (table S A)))
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
  (given (beta discount) (r (table S A)) (P (kernel S A)) (Q (table S A)) (W (list S real))
         (pi (policy S A)) (U (list S real)))
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
  (given (beta discount) (r (table S A)) (P (kernel S A)) (anchor (list S (index A)))
         (Q (table S A)) (other (table S A)))
  (assume
    (all s S (all a A (= (Q s a) (T r beta P Q s a))))
    (all s S (= (other s (anchor s)) (+ (r s (anchor s)) (* beta (ahead P
      (vec t S (- (other t (anchor t)) (log (choice (Q t) (anchor t))))) s (anchor s)))))))
  (printed (= (farthest other Q) 0))
  (corrected (all s S (all a A (= (Q s a) (+ (other s (anchor s))
    (- (log (choice (Q s) a)) (log (choice (Q s) (anchor s))))))))))

(claim eq:zeta-reparametrisation
  (given (beta discount) (r (table S A)) (P (kernel S A)) (Q (table S A)) (zeta (table S A)))
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
  (given (beta discount) (r (table S A)) (P (kernel S A)) (Q (table S A)))
  (assume (all s S (all a A (= (Q s a) (T r beta P Q s a)))))
  (printed (all s S (all a A (= (/ (Q s a) (sum b A (Q s b))) (choice (Q s) a)))))
  (corrected (all s S (= (V (Q s)) (sum a A (* (choice (Q s) a)
    (- (T r beta P Q s a) (log (choice (Q s) a)))))))))

(claim eq:expzeta
  ; d is the expert's discounted occupancy, Qstar his Q*; zeta minimises over the anchor pairs
  (given (beta discount) (r (table S A)) (P (kernel S A)) (nu (law S)) (Qstar (table S A))
         (d (list S (list A nonnegative))) (anchor (index A)) (Q (table S A)) (zeta (table S A)))
  (assume
    (all s S (all a A (= (Qstar s a) (T r beta P Qstar s a))))
    (all s S (all a A (= (d s a) (* (choice (Qstar s) a) (+ (* (- 1 beta) (nu s))
      (* beta (sum u S (sum c A (* (d u c) (P u c s))))))))))
    (all s S (or (= (d s anchor) 0) (= (zeta s anchor) (next P Q s anchor)))))
  (printed (<=
    (- (sum s S (sum a A (* (d s a) (spread P Q s a (zeta s a)))))
       (sum s S (sum a A (* (d s a) (spread P Q s a (next P Q s a))))))
    0))
  (corrected (<=
    (sum s S (* (d s anchor) (spread P Q s anchor (next P Q s anchor))))
    (sum s S (* (d s anchor) (spread P Q s anchor (zeta s anchor)))))))

(claim intro.reward-no-extra-cost
  ; a pair seen once: the successors' chances and values V*; r-hat = Q*(s, a) - beta V*(s')
  (given (beta discount) (chance (law n)) (v (list n real)) (q real) (r real))
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
    (or (= d M) (> d (rank Phi)))
    (<= (sum j d (^ (- (theta j) (start j)) 2)) (sum j d (^ (- (truth j) (start j)) 2)))))
  (step "The risk depends on theta through Phi theta, so its gradients are combinations of the rows
    of Phi, and a minimiser has Phi theta = Q*."))

(claim remark.full-column-rank
  ; the gradients of Q_theta over S x A, and which of these pairs are the points of Z_Q
  (given (all-rows (list n (list d real))) (points (list M (index n))))
  (assume (= (rank all-rows) d))
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
  (given (beta discount) (r (table S A)) (P (kernel S A)) (nu (law S)) (anchor (index A))
         (Q (table S A)) (d (list S (list A nonnegative))) (other (table S A)))
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
  (given (beta discount) (P (kernel S A)) (r1 (table S A)) (r2 (table S A)) (V1 (list S real))
         (V2 (list S real)) (share share))
  (assume
    (all s S (= (V1 s) (V (vec a A (+ (r1 s a) (* beta (ahead P V1 s a)))))))
    (all s S (= (V2 s) (V (vec a A (+ (r2 s a) (* beta (ahead P V2 s a))))))))
  (printed (all s S (=
    (+ (* share (V1 s)) (* (- 1 share) (V2 s)))
    (V (vec a A (+ (* share (r1 s a)) (* (- 1 share) (r2 s a))
      (* beta (ahead P (vec t S (+ (* share (V1 t)) (* (- 1 share) (V2 t)))) s a))))))))
  (corrected (all s S (>=
    (+ (* share (V1 s)) (* (- 1 share) (V2 s)))
    (V (vec a A (+ (* share (r1 s a)) (* (- 1 share) (r2 s a))
      (* beta (ahead P (vec t S (+ (* share (V1 t)) (* (- 1 share) (V2 t)))) s a)))))))))

(claim rem:counterfactual-without-P
  ; C is the stationary point of conservative Q-learning on the data relabelled with r + Delta, N
  ; the changed world's Q*
  (given (beta discount) (r (table S A)) (P (kernel S A)) (Delta (table S A)) (alpha nonnegative)
         (Q (table S A)) (N (table S A)) (C (table S A)))
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
  ; law h is that of s_h under pi* = choice(Q*); H periods of data
  (given (beta discount) (r (table S A)) (P (kernel S A)) (anchor (list S (index A)))
         (Q (table S A)) (H count) (laws (list H1 (law S))))
  (assume
    (> H 0)
    (= H1 (+ H 1))
    (all s S (all a A (= (Q s a) (T r beta P Q s a))))
    (all h H (all t S (= (laws (+ h 1) t)
      (sum s S (sum a A (* (laws h s) (choice (Q s) a) (P s a t))))))))
  (printed (all y S
    (let (nu (/ (sum h H (sum s S (* (laws h s) (P s (anchor s) y)))) H))
      (implies (> nu 0) (>= (/ (/ (sum h H (laws h y)) H) nu)
        (/ (exp (* -2 (farthest Q (vec s S (vec a A 0))))) A))))))
  (corrected (all y S
    (let (nu (/ (sum h H (sum s S (* (laws h s) (P s (anchor s) y)))) H))
      (>= (/ (- (+ (sum h H (laws h y)) (laws H y)) (laws 0 y)) H)
          (* nu (/ (exp (* -2 (farthest Q (vec s S (vec a A 0))))) A)))))))
