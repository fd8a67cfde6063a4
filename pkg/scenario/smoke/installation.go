package smoke

import (
	"context"
	"fmt"
	"strings"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/cluster/installed"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/scenario"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/scenario/result"
)

// The checks of a release that is installed as its users install it.
const (
	installationCheck = "installation"
	rightsCheck       = "rights"
)

// installation returns how the program of a side is installed, or nil.
func (r *run) installation(s *side) *installed.Installation {
	if r.o.Installed == nil {
		return nil
	}
	return r.o.Installed(s.program)
}

// install checks that the manifest of a side installs a program that runs. Otherwise nothing else can be
// checked.
func (r *run) install(ctx context.Context, s *side, i *installed.Installation) bool {
	c := r.begin(installationCheck, "what its manifest installs finds a node, starts, and answers its probes", 3)
	c.step(ctx, "note", "the manifest", func(context.Context) (string, error) { return i.Workload + " of " + i.From, nil })
	c.step(ctx, "expect", "its pods find a node of a new cluster, and its probes ask where it listens", func(context.Context) (string, error) {
		if findings := i.Findings(); len(findings) > 0 {
			return "", errNot{strings.Join(findings, "; ")}
		}
		return "", nil
	})
	if c.failed() {
		c.steps = 2
	} else {
		c.step(ctx, "expect", "with its arguments and its rights alone it becomes healthy, and all nodes are initialized", func(ctx context.Context) (string, error) {
			sandbox, err := r.bootFor(ctx, r.measured)
			if err != nil {
				if r.o.Unhealthy != nil && r.o.Unhealthy(err) {
					return "", errNot{err.Error()}
				}
				return "", err
			}
			r.collect(ctx, s, sandbox)
			if sandbox.Stop != nil {
				_ = sandbox.Stop(context.WithoutCancel(ctx)) // how that goes is no part of any result
			}
			return "", nil
		})
	}
	res := c.end()
	if res.Verdict == result.Passed {
		res.Message = i.Workload + " of " + i.From
	}
	if r.chosen(installationCheck) {
		s.add(res, nil, false)
	}
	return res.Verdict == result.Passed
}

// collect adds what the program's account asked the API server of a sandbox for.
func (r *run) collect(ctx context.Context, s *side, sandbox *scenario.Running) {
	i := r.installation(s)
	if i == nil || r.o.Requests == nil {
		return
	}
	requests, err := r.o.Requests(context.WithoutCancel(ctx), sandbox, i)
	if err != nil {
		s.unread = err
		return
	}
	s.requests = append(s.requests, requests...)
}

// checkRights checks that the API server refused nothing to the account of a side, and lists the rights that no check needed.
func (r *run) checkRights(ctx context.Context, s *side, i *installed.Installation) {
	c := r.begin(rightsCheck, "the rights of its manifest suffice: the API server refuses none of its requests", 2)
	var unused []string
	c.step(ctx, "expect", "no request of ServiceAccount "+i.Namespace+"/"+i.ServiceAccount+" is refused", func(context.Context) (string, error) {
		if s.unread != nil {
			return "", s.unread
		}
		if len(s.requests) == 0 {
			return "", errSkip{"the audit log has no request of the account"}
		}
		refused := installed.Refused(s.requests)
		if len(refused) == 0 {
			return fmt.Sprintf("%d requests", len(s.requests)), nil
		}
		var parts []string
		for _, f := range refused {
			parts = append(parts, f.String())
		}
		return "", errNot{"lacks the rights: " + strings.Join(parts, ", ")}
	})
	c.step(ctx, "note", "rights that no check needed", func(context.Context) (string, error) {
		if len(s.requests) > 0 {
			unused = i.Unused(s.requests)
		}
		return strings.Join(unused, ", "), nil
	})
	res := c.end()
	if res.Verdict == result.Passed {
		res.Message = fmt.Sprintf("%d requests, none refused; rights to %d resources were never used in full", len(s.requests), len(unused))
	}
	s.add(res, nil, false)
	if len(unused) > 0 && !s.baseline {
		t := result.Table{Title: "Rights that were never used", Header: []string{"rights of " + i.From + " that were never used"}}
		for _, text := range unused {
			t.Rows = append(t.Rows, []string{text})
		}
		r.report.Suite.Tables = append(r.report.Suite.Tables, t)
	}
}

// failed reports whether a step of the check did not pass.
func (c *check) failed() bool {
	for _, st := range c.s.Steps {
		if st.Verdict != result.Passed {
			return true
		}
	}
	return false
}
