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

// Validate tells why s is no usable speed.
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

// Rate returns a rate (things per second) scaled up.
func (s Speed) Rate(perSecond float64) float64 { return perSecond * float64(s) }
