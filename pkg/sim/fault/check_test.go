package fault_test

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/fault"
)

func TestParams(t *testing.T) {
	type none struct{}
	kind := fault.New(fault.Kind{Name: "k", Object: fault.Sandbox, Params: []fault.Param{
		{Name: "wait", Type: fault.Duration, Default: "1m"},
		{Name: "times", Type: fault.Number, Default: "3"},
		{Name: "share", Type: fault.Fraction, Default: "0.5"},
		{Name: "loud", Type: fault.Bool, Default: "false"},
		{Name: "color", Type: fault.Text, Choices: []string{"red", "green"}, Default: "red"},
		{Name: "who", Type: fault.Text, Required: true, Short: "whose it is"},
		{Name: "extra", Type: fault.Text},
	}}, fault.Steps[none]{
		Plan:   func(context.Context, *fault.Call) (none, string, error) { return none{}, "", nil },
		Revert: func(context.Context, *fault.Call, *none) error { return nil },
	})
	e := fault.NewEngine(fault.Options{Ground: &fault.Ground{}, Kinds: []*fault.Kind{kind}})
	for _, tc := range []struct {
		name  string
		given map[string]string
		want  fault.Values
		says  []string
	}{
		{
			name: "defaults", given: map[string]string{"who": "me"},
			want: fault.Values{"wait": "1m", "times": "3", "share": "0.5", "loud": "false", "color": "red", "who": "me"},
		},
		{
			name: "all", given: map[string]string{"who": "", "wait": "250ms", "times": "007", "share": "25%", "loud": "T", "color": "green", "extra": "x=y"},
			want: fault.Values{"wait": "250ms", "times": "7", "share": "0.25", "loud": "true", "color": "green", "who": "", "extra": "x=y"},
		},
		{name: "required", says: []string{`"who"`, "whose it is", "fault describe k"}},
		{name: "unknown", given: map[string]string{"who": "me", "waiit": "1s"}, says: []string{`no parameter "waiit"`, `did you mean "wait"?`}},
		{name: "unknown and far off", given: map[string]string{"zzz": "1s"}, says: []string{"it has wait, times"}},
		{name: "no duration", given: map[string]string{"who": "me", "wait": "5"}, says: []string{`"5" is no duration`}},
		{name: "negative duration", given: map[string]string{"who": "me", "wait": "-5s"}, says: []string{"-5s"}},
		{name: "no number", given: map[string]string{"who": "me", "times": "few"}, says: []string{`"few" is no whole number`}},
		{name: "negative", given: map[string]string{"who": "me", "times": "-1"}, says: []string{`"-1"`}},
		{name: "no fraction", given: map[string]string{"who": "me", "share": "1.1"}, says: []string{`"1.1" is no fraction`}},
		{name: "not a number", given: map[string]string{"who": "me", "share": "NaN"}, says: []string{"NaN"}},
		{name: "no bool", given: map[string]string{"who": "me", "loud": "very"}, says: []string{"neither true nor false"}},
		{name: "none of the choices", given: map[string]string{"who": "me", "color": "gren"}, says: []string{"red, green", `did you mean "green"?`}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			l, err := e.Plan(t.Context(), fault.Request{Kind: "k", Params: tc.given})
			if tc.want == nil {
				requireRefusal(t, err, "invalid", tc.says...)
			} else if diff := cmp.Diff(tc.want, l.Params); err != nil || diff != "" {
				t.Errorf("%v (-want +got):\n%s", err, diff)
			}
		})
	}
	v := fault.Values{"d": "250ms", "n": "7", "f": "0.25", "b": "true", "t": "x"}
	if v.Duration("d") != 250*time.Millisecond || v.Number("n") != 7 || v.Fraction("f") != 0.25 || !v.Bool("b") || v.Text("t") != "x" || v.Bool("none") {
		t.Error("the getters")
	}
	_, err := e.Plan(t.Context(), fault.Request{Kind: "k", Params: map[string]string{"who": "me"}, For: -1})
	requireRefusal(t, err, "invalid", "negative")
	if err := e.Close(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestNeeds(t *testing.T) {
	l := start(t, "a")
	_, err := l.Inject(t.Context(), fault.Request{Kind: "lamp.cluster", On: on("a")})
	requireRefusal(t, err, "unsupported", "lamp.cluster", "a Kubernetes cluster")
	g := &fault.Ground{VCenters: []fault.Endpoint{{Name: "real"}}}
	for _, n := range []fault.Need{fault.Simulator, fault.Gated, fault.Kubelets, fault.Children, fault.Clustered, "luck"} {
		if g.Has(n) {
			t.Errorf("it has %s", n)
		}
	}
}
