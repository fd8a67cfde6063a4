package scenario_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/scenario"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/scenario/result"
)

// scenarios makes some with different needs.
func several(t *testing.T) []*scenario.Scenario {
	t.Helper()
	var list []*scenario.Scenario
	for name, rest := range map[string]string{
		"a": "topology: single\ncomponents: {speed: 20}", "b": "topology: single", "c": "topology: zones-us-eu", "d": "topology: single\ncomponents: {ccm: {replicas: 1}}",
	} {
		s, err := scenario.Load(name+".yaml", []byte(top+"metadata: {name: "+name+"}\n"+rest+"\nsteps: [{inject: vcenter.down, on: {vcenter: \"*\"}, mode: all}]\n"))
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, s)
	}
	return list
}

func TestRunAll(t *testing.T) {
	for _, tc := range []struct {
		name         string
		leave        bool // each scenario leaves something
		fail         bool // no sandbox comes up
		boots, stops int
		verdict      result.Verdict
	}{
		{"shared", false, false, 3, 3, result.Passed},
		{"left", true, false, 4, 4, result.Passed},
		{"no sandbox", false, true, 4, 0, result.Errored},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				boots, stops, ended := 0, 0, 0
				boot := func(context.Context, scenario.Requirements) (*scenario.Running, error) {
					if boots++; tc.fail {
						return nil, errors.New("no room")
					}
					f := newFake()
					if tc.leave {
						f.onInject = func(f *fake, _ api.InjectRequest, _ uint64) { f.put(node("worker-3", "True")) }
					}
					return &scenario.Running{Sandbox: f, Name: fmt.Sprint("s", boots), Stop: func(context.Context) error { stops++; return nil }}, nil
				}
				suite := scenario.RunAll(t.Context(), several(t), boot, scenario.Options{}, func(*scenario.Scenario, scenario.Outcome) { ended++ })
				got := []any{boots, stops, ended, len(suite.Scenarios), len(suite.Boots), suite.Verdict()}
				if diff := cmp.Diff([]any{tc.boots, tc.stops, 4, 4, tc.boots, tc.verdict}, got); diff != "" {
					t.Errorf("(-want +got):\n%s", diff)
				}
			})
		})
	}
}
