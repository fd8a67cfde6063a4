package pace

import (
	"fmt"
	"time"
)

// Default is the speed of a sandbox for which none was asked.
const Default Speed = 10

// Max is the highest speed: beyond it the floors of the periods hold, and nothing gets faster.
const Max Speed = 100

// Speed is how many times faster than upstream's defaults a cluster lives. The zero value is not valid.
type Speed float64

// Validate returns an error if s is no usable speed.
func (s Speed) Validate() error {
	if !(s >= 1 && s <= Max) { // also refuses NaN
		return fmt.Errorf("speed %v: want a number from 1 (upstream's defaults) to %v", float64(s), float64(Max))
	}
	return nil
}

// Of returns the scaled p: upstream's default divided by the speed, rounded to p's unit, and not less than p's floor.
func (s Speed) Of(p Period) time.Duration {
	r := p.row()
	return max(time.Duration(float64(r.Upstream)/float64(s)).Round(r.unit), r.Floor)
}

// EvictionRate is kube-controller-manager's --node-eviction-rate, in nodes per second: upstream's 0.1 scaled up, and never 1.
// While all nodes are not ready, as when a cluster boots, the node lifecycle controller swaps its limiter for one that lets
// nothing pass, which says of itself that its rate is 1 (client-go/util/flowcontrol, fakeNeverRateLimiter); and the one to come
// after it is not put there if its rate is the same (nodelifecycle/scheduler, SwapLimiter). At a rate of 1 no node of a cluster
// without zones would ever be evicted from.
func (s Speed) EvictionRate() float64 {
	const upstream, stuck, next = 0.1, 1, 1.001
	if rate := upstream * float64(s); float32(rate) != stuck {
		return rate
	}
	return next
}
