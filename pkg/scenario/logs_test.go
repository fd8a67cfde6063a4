package scenario_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/scenario"
)

// Logs are followed as they are written. What was in one before the scenario is no line of it.
func TestLogs(t *testing.T) {
	log := filepath.Join(t.TempDir(), "ccm.log")
	write := func(flag int, text string) {
		f, err := os.OpenFile(log, os.O_CREATE|os.O_WRONLY|flag, 0o600)
		if err != nil {
			t.Error(err)
			return
		}
		defer f.Close()
		if _, err := f.WriteString(text); err != nil {
			t.Error(err)
		}
	}
	write(os.O_TRUNC, "panic: long ago\n")
	f := newFake()
	f.put(api.Update{Component: &api.Component{Name: "ccm", State: "running", Log: log}})
	f.onInject = func(_ *fake, r api.InjectRequest, _ uint64) {
		if r.Fault == "vcenter.restart" {
			write(os.O_TRUNC, "login failed: 2\n") // truncated
			return
		}
		write(os.O_APPEND, "one half ")
		write(os.O_APPEND, "of a line\nlogin failed: 1\n")
	}
	out := scenario.Run(t.Context(), parse(t, `
- never: {log: {component: ccm, matches: "^panic"}}
  until: end
- {inject: vcenter.down, on: {vcenter: vc}}
- expect: {log: {component: ccm, matches: "half of a line"}}
- wait: {log: {component: ccm, matches: "login failed", count: 1}}
- {inject: vcenter.restart, on: {vcenter: vc}}
- expect: {log: {component: ccm, matches: "login failed", count: 2}}
- expect: {log: {component: ccm, matches: "login failed", since: step}}
  within: 100ms
`), f, scenario.Options{})
	if got := verdicts(out.Scenario); got != "passed passed passed passed passed passed failed" {
		t.Errorf("%s: %+v", got, out.Steps)
	}
}
