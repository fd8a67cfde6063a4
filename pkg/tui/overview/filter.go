package overview

import (
	"strings"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/glance"
)

func found(text string, words []string) bool {
	for _, w := range words {
		if !strings.Contains(text, w) {
			return false
		}
	}
	return true
}

// words are all that a filter may find a line by, in lower case.
func (l *line) words() string {
	var b strings.Builder
	say := func(words ...string) {
		for _, w := range words {
			if w != "" {
				b.WriteString(strings.ToLower(w))
				b.WriteByte(' ')
			}
		}
	}
	if v := l.vm; v != nil {
		say(v.Name, v.Hostname, glance.Power(*v).Word, v.Connection, v.Process, v.Role, v.UUID, v.MoRef)
		say(v.Addresses...)
		say(glance.Tools(*v).Word)
	}
	if n := l.node; n != nil {
		say(n.Name, glance.Node(*n).Word, n.Region, n.Zone, n.ProviderID)
		say(n.Taints...)
		say(n.Roles...)
		say(n.Addresses...)
		if n.Unschedulable {
			say("cordoned")
		}
	}
	if l.gone {
		say("gone deleted")
	}
	for _, v := range l.volumes {
		say(v.Claim)
	}
	for _, f := range l.findings {
		say(f.Text)
	}
	for _, m := range l.trouble {
		say(m.Word)
	}
	return b.String()
}
