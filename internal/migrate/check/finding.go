package check

import (
	"fmt"
	"strings"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/shorten"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/vcenter/doctor"
)

// Verdict is what a check comes to.
type Verdict string

// The verdicts.
const (
	Pass Verdict = "pass"
	Warn Verdict = "warn" // a migration goes on, and something works less well
	Fail Verdict = "fail" // to be mended first
)

// Finding is one result.
type Finding struct {
	// Check is what was looked at, the same in every release: "pv-disks".
	Check   string  `json:"check"`
	Verdict Verdict `json:"verdict"`
	// Where is "cluster", or a vCenter's name, or "vcenters" where several are concerned.
	Where string `json:"where"`
	// Found is what was found. Why is what follows from it, and Try what to do; both are empty for what passes.
	Found string `json:"found"`
	Why   string `json:"why,omitempty"`
	Try   string `json:"try,omitempty"`
	// Objects are the names of all that are concerned, of which Found may spell out a few.
	Objects []string `json:"objects,omitempty"`
}

const cluster = "cluster"

// list collects findings.
type list struct{ all []Finding }

func (l *list) pass(check, where, format string, args ...any) {
	l.all = append(l.all, Finding{Check: check, Verdict: Pass, Where: where, Found: fmt.Sprintf(format, args...)})
}

func (l *list) add(f Finding) { l.all = append(l.all, f) }

// each makes one finding of the objects of which something is wrong, out of so many of a kind; what goes on behind the
// number and the kind.
func (l *list) each(f Finding, wrong []string, of int, noun, fine, what string) {
	if len(wrong) == 0 {
		l.pass(f.Check, f.Where, "%s: %s", count(of, noun), fine)
		return
	}
	f.Objects = wrong
	f.Found = fmt.Sprintf("%d of %d %s %s: %s", len(wrong), of, plural(noun), what, shorten.List(wrong, shown))
	l.add(f)
}

// take translates what doctor has found.
func (l *list) take(all []doctor.Finding) {
	verdicts := map[doctor.Level]Verdict{doctor.OK: Pass, doctor.Warning: Warn, doctor.Error: Fail}
	for _, f := range all {
		where := f.VCenter
		switch {
		case f.Cluster != "":
			where = cluster
		case where == "":
			where = "vcenters"
		}
		l.add(Finding{Check: f.ID, Verdict: verdicts[f.Level], Where: where, Found: f.What, Why: f.Why, Try: f.Try, Objects: f.Objects})
	}
}

// shown is how many names a finding spells out.
const shown = 5

func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %s", n, plural(noun))
}

func plural(noun string) string {
	if strings.HasSuffix(noun, "s") {
		return noun + "es"
	}
	return noun + "s"
}
