package children

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"
	corev1 "k8s.io/api/core/v1"

	chart "github.com/vsphere-sandbox/vsphere-sandbox/charts/vsphere-sandbox"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/cluster/existing"
)

func TestParseTaint(t *testing.T) {
	for text, want := range map[string]corev1.Taint{
		"sandbox.vsphere/light:NoSchedule": {Key: "sandbox.vsphere/light", Effect: corev1.TaintEffectNoSchedule},
		"a=b:NoExecute":                    {Key: "a", Value: "b", Effect: corev1.TaintEffectNoExecute},
	} {
		got, err := parseTaint(text)
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("%s: %v\n%s", text, err, diff)
		}
	}
	for _, bad := range []string{"", "a", "a:", "a:Never", ":NoSchedule", "a b:NoSchedule"} {
		if got, err := parseTaint(bad); err == nil {
			t.Errorf("%q: %v", bad, got)
		}
	}
}

// The chart calls the command with flags that it has.
func TestChartCallsLightNodes(t *testing.T) {
	objects, err := existing.Objects(chart.Files(), existing.ReleaseOf("mine"), nil)
	if err != nil {
		t.Fatal(err)
	}
	found := false
	for _, o := range objects {
		if o.GetKind() != "StatefulSet" {
			continue
		}
		found = true
		spec := o.Object["spec"].(map[string]any)["template"].(map[string]any)["spec"].(map[string]any)
		var args []string
		for _, a := range spec["containers"].([]any)[0].(map[string]any)["args"].([]any) {
			args = append(args, a.(string))
		}
		cmd := NewCmdLightNodes()
		if args[0] != cmd.Name() {
			t.Errorf("command %q", args[0])
		}
		if err := cmd.ParseFlags(args[1:]); err != nil {
			t.Error(err)
		}
		set := 0
		cmd.Flags().Visit(func(*pflag.Flag) { set++ })
		if set != 6 {
			t.Errorf("%d flags are set by %v", set, args)
		}
	}
	if !found {
		t.Error("no StatefulSet")
	}
}
