package address

import "fmt"

// static looks at metadata that cannot be read. It is an error where another candidate would have been as good as one
// that was chosen, and the metadata might have said which comes first.
func (s *selector) static(internal, external *side, c choices) *Problem {
	if s.guest.StaticErr == nil {
		return nil
	}
	if s.rules.Upstream {
		return &Problem{StaticUnreadable, s.guest.StaticErr.Error()}
	}
	for _, one := range []struct {
		*side
		choice
	}{{internal, c.internal}, {external, c.external}} {
		if one.at < 0 {
			continue
		}
		for _, other := range s.of {
			if other.ip != s.of[one.at].ip && one.fits(other, one.choice) {
				return &Problem{StaticUnreadable, fmt.Sprintf("%v; so it cannot be told which of %s and %s comes first, "+
					"and no %s or VM network is configured that only one is in", s.guest.StaticErr, s.of[one.at].ip, other.ip, one.subnetsName())}
			}
		}
	}
	s.warn(StaticUnreadable, "%v; it makes no difference to the node's addresses", s.guest.StaticErr)
	return nil
}
