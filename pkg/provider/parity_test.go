package provider

import (
	"fmt"
	"log/slog"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/config"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/gate"
)

func TestNewRefuses(t *testing.T) {
	const both = "global: {server: vc.example, user: u, password: p, ipFamily: [ipv4, ipv6]}"
	for _, tc := range []struct {
		name string
		opts Options
		env  []string
		want string // "" if accepted
	}{
		{"dual stack", Options{}, nil, ""},
		{"dual stack, as upstream", Options{Parity: ParityUpstream}, nil, "ENABLE_ALPHA_DUAL_STACK"},
		{"dual stack, as upstream, allowed", Options{Parity: ParityUpstream}, []string{"ENABLE_ALPHA_DUAL_STACK=false"}, ""},
		{"unknown parity", Options{Parity: "downstream"}, nil, `parity "downstream": unknown`},
		{"labels", Options{NodeLabels: map[string]string{"example.org/a.b": "c", "plain": ""}}, nil, ""},
		{"label of Kubernetes", Options{NodeLabels: map[string]string{"node.kubernetes.io/x": "y"}}, nil, ""},
		{"label key", Options{NodeLabels: map[string]string{"a/b/c": "y"}}, nil, `node label "a/b/c": key is not a qualified name`},
		{"empty label key", Options{NodeLabels: map[string]string{"": "y"}}, nil, "not a qualified name"},
		{"label value", Options{NodeLabels: map[string]string{"a": "b c"}}, nil, `node label "a": value "b c"`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			cfg, err := config.Load("vsphere.conf", []byte(both), config.WithEnvironment(tc.env))
			if err != nil {
				t.Fatal(err)
			}
			_, err = New(cfg, tc.opts)
			if (err == nil) != (tc.want == "") || err != nil && !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got %v, want %q", err, tc.want)
			}
		})
	}
}

// With upstream's parity every choice is set, with ours none: no new field is forgotten.
func TestChoices(t *testing.T) {
	if got := choicesOf(""); got != (choices{}) {
		t.Errorf("ours: %+v", got)
	}
	all := reflect.ValueOf(choicesOf(ParityUpstream))
	for _, f := range reflect.VisibleFields(all.Type()) {
		if !f.Anonymous && !all.FieldByIndex(f.Index).Bool() {
			t.Errorf("upstream: %s is ours", f.Name)
		}
	}
}

func TestWarnNodeLabels(t *testing.T) {
	var out strings.Builder
	warnNodeLabels(slog.New(slog.NewTextHandler(&out, nil)), map[string]string{
		"k8s.io/a": "", "node.kubernetes.io/b": "", "example.org/c": "", "kubernetes.io.example/d": "", "kubernetes.io": "", "notk8s.io/e": "",
	})
	var labels []string
	for line := range strings.Lines(out.String()) {
		_, rest, _ := strings.Cut(line, "label=")
		label, _, _ := strings.Cut(rest, " ")
		labels = append(labels, label)
	}
	if diff := cmp.Diff([]string{"k8s.io/a", "node.kubernetes.io/b"}, labels); diff != "" {
		t.Error(diff)
	}
}

// Upstream deletes the node of another provider; here even that waits for a confirmation from every vCenter.
func TestParityForeign(t *testing.T) {
	w := startWith(t, setup{options: func(o *Options) { o.Parity = ParityUpstream }})
	n := node("kind", "kind://docker/kind/kind", w1UUID)
	if exists, err := w.InstanceExists(t.Context(), n); exists || err != nil {
		t.Errorf("exists %v, %v", exists, err)
	}
	w.gate(t, "eu", gate.Down)
	eventually(t, "doubt", func() error {
		if exists, err := w.InstanceExists(t.Context(), n); exists || err == nil {
			return fmt.Errorf("exists %v, %w", exists, err)
		}
		return nil
	})
}
