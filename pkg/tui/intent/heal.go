package intent

import (
	"cmp"
	"context"
	"fmt"
	"strings"
)

// Args implements [Action].
func (a Heal) Args() []string {
	if a.All {
		return []string{"fault", "heal", "--all"}
	}
	return command{words: []string{"fault", "heal"}, names: a.IDs}.args()
}

// Danger implements [Action].
func (Heal) Danger() string { return "" }

// Do implements [Action].
func (a Heal) Do(ctx context.Context, s Sandbox) (string, error) {
	r := a.HealRequest
	if r.All {
		r.IDs = nil
	}
	leases, err := s.Heal(ctx, r)
	if err != nil {
		return "", err
	}
	if len(leases) == 0 {
		return "nothing is broken", nil
	}
	words := make([]string, len(leases))
	for i, l := range leases {
		words[i] = fmt.Sprintf("%s: %s %s", l.ID, l.Fault, cmp.Or(l.Note, "healed"))
	}
	const most = 3
	if len(words) > most {
		return fmt.Sprintf("%s; and %d more", strings.Join(words[:most], "; "), len(words)-most), nil
	}
	return strings.Join(words, "; "), nil
}
