package scenario

import (
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/strict"
)

// maxWithin is longer than anything worth waiting for.
const maxWithin = time.Hour

// times reports durations that make no sense.
func (c *checker) times(s *Step) {
	has := func(key string) bool { k, _ := strict.Find(s.node, key); return k != nil }
	if has("at") && has("after") {
		c.key(s, "at", "says when the step begins, and so does after")
	}
	if has("at") {
		if s.At.Scaled == c.at.Scaled && s.At.D < c.at.D {
			c.key(s, "at", "is %s, which is over when the step before it, at %s, is", s.At, c.at)
		}
		c.at = s.At
	}
	if has("for") && s.For.IsZero() {
		c.key(s, "for", "must be longer than nothing")
	}
	if s.Within != nil && s.Within.D > maxWithin {
		c.key(s, "within", "must not be more than an hour, as %s is", *s.Within)
	}
	if s.Action != ActionNever {
		return
	}
	switch {
	case has("for") && has("until"):
		c.key(s, "until", "says how long, and so does for")
	case !has("for") && !has("until"):
		c.key(s, "never", "needs for: or until: how long it must not happen")
	case has("until") && s.Until != "end":
		c.until(s)
	}
}

// until looks for the step, which comes later.
func (c *checker) until(s *Step) {
	var later []string
	after := false
	for _, one := range c.scenario.Steps {
		if after && one.As != "" {
			if one.As == s.Until {
				return
			}
			later = append(later, one.As)
		}
		after = after || one == s
	}
	_, node := strict.Find(s.node, "until")
	c.Unknown(node, strict.Below(s.path, "until"), "later step", s.Until, append(later, "end"))
}
