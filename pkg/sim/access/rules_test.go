package access

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/race"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/internal/vc"
)

// world is a random inventory with random permissions of one user.
type world struct {
	rules   *rules
	above   map[vc.Ref][]vc.Ref
	objects []vc.Ref
	user    *account
}

func randomWorld(r *rand.Rand) *world {
	w := &world{above: make(map[vc.Ref][]vc.Ref), user: &account{name: name{"u", "d"}}}
	w.rules = &rules{roles: systemRoles(), granted: make(map[vc.Ref][]permission)}
	for i := range int32(4) {
		some := []string{"a", "b", "c", "d"}[:r.IntN(5)]
		w.rules.roles[firstRole+i] = ownRole(firstRole+i, fmt.Sprint("role", i), some)
	}
	ids := slices.Sorted(maps.Keys(w.rules.roles))
	groups := []name{{"g1", "d"}, {"g2", "d"}, {"g3", "d"}}
	w.user.groups = groups[:r.IntN(3)]

	for i := range 25 {
		ref := vc.Ref{Type: "Folder", Value: fmt.Sprint(i)}
		if i > 0 {
			w.above[ref] = []vc.Ref{w.objects[r.IntN(i)]}
		}
		w.objects = append(w.objects, ref)
	}
	for i := range 25 { // VMs, with two above them
		ref := vc.Ref{Type: "VirtualMachine", Value: fmt.Sprint(i)}
		w.above[ref] = []vc.Ref{w.objects[r.IntN(25)], w.objects[r.IntN(25)]}
		w.objects = append(w.objects, ref)
	}
	for range r.IntN(30) {
		p := permission{who: w.user.name, role: ids[r.IntN(len(ids))], propagate: r.IntN(2) == 0}
		switch r.IntN(4) {
		case 0:
			p.who = name{"other", "d"}
		case 1, 2:
			p.who, p.group = groups[r.IntN(len(groups))], true
		}
		w.rules.set(w.objects[r.IntN(len(w.objects))], p)
	}
	return w
}

// naive says what a user may do by the words of the documentation: permissions on an object override those that are
// inherited; a user's own overrides those of groups; those of several groups add up; a VM inherits from both sides.
func (w *world) naive(ref vc.Ref, inherited bool) (privileges map[string]bool, decided bool) {
	own, groups := map[string]bool{}, map[string]bool{}
	var hasOwn, hasGroup bool
	for _, p := range w.rules.granted[ref] {
		if inherited && !p.propagate {
			continue
		}
		if p.group && slices.Contains(w.user.groups, p.who) {
			hasGroup = true
			for _, id := range w.rules.roles[p.role].Privilege {
				groups[id] = true
			}
		}
		if !p.group && p.who == w.user.name {
			hasOwn = true
			for _, id := range w.rules.roles[p.role].Privilege {
				own[id] = true
			}
		}
	}
	if hasOwn {
		return own, true
	}
	if hasGroup {
		return groups, true
	}
	all := map[string]bool{}
	for _, p := range w.above[ref] {
		if from, ok := w.naive(p, true); ok {
			maps.Copy(all, from)
			decided = true
		}
	}
	return all, decided
}

func TestEffectivePrivileges(t *testing.T) {
	race.SkipSlow(t)
	for seed := range uint64(300) {
		w := randomWorld(rand.New(rand.NewPCG(seed, 1)))
		for _, ref := range w.objects {
			want, _ := w.naive(ref, false)
			got := map[string]bool{}
			for _, role := range w.rules.effective(w.user, ref, func(r vc.Ref) []vc.Ref { return w.above[r] }) {
				for id := range role.has {
					got[id] = true
				}
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Fatalf("seed %d, %s (-want +got):\n%s", seed, ref, diff)
			}
		}
	}
}

func TestParseName(t *testing.T) {
	for given, want := range map[string]name{
		"Administrator@vSphere.local": {"administrator", "vsphere.local"},
		`VSPHERE.LOCAL\Administrator`: {"administrator", "vsphere.local"},
		"root":                        {"root", ""},
		" a@b@c ":                     {"a@b", "c"},
		"":                            {},
	} {
		if got := parseName(given); got != want {
			t.Errorf("%q is %+v, want %+v", given, got, want)
		}
	}
}
