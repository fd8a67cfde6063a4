package csi

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/report"
)

func TestFlags(t *testing.T) {
	for _, tc := range []struct {
		args    string
		kind    bool
		refused string
		again   string
	}{
		{args: ""},
		{args: "--csi builtin", kind: true},
		{args: "--csi off", again: "--csi off"},
		{args: "--csi module:v3.7.0", kind: true, again: "--csi module:v3.7.0"},
		{args: "--csi module:v3.8.0-rc.1", kind: true, again: "--csi module:v3.8.0-rc.1"},
		{args: "--csi image:registry.k8s.io/csi-vsphere/driver:v3.7.0", kind: true, again: "--csi image:registry.k8s.io/csi-vsphere/driver:v3.7.0"},
		{args: "--csi image:localhost:5000/driver:mine --csi-manifest m.yaml", kind: true, again: "--csi image:localhost:5000/driver:mine --csi-manifest m.yaml"},
		{args: "--csi image:localhost:5000/driver:mine", kind: true, refused: "its tag does not say which release it is"},
		{args: "--csi module:v3.7.0", refused: "--csi module:v3.7.0 is for --cluster kind"},
		{args: "--csi module:3.7", kind: true, refused: "want a version of upstream's module"},
		{args: "--csi module:v3.7.0/../x", kind: true, refused: "want a version of upstream's module"},
		{args: "--csi image:driver", kind: true, refused: "want an image with registry and tag"},
		{args: "--csi archive:x", kind: true, refused: "want image:REF or module:VERSION"},
		{args: "--csi upstream", kind: true, refused: "want builtin, off, image:REF or module:VERSION"},
		{args: "--csi-manifest m.yaml", kind: true, refused: "the built-in CSI driver has its own manifests"},
	} {
		t.Run(tc.args, func(t *testing.T) {
			f := &Flags{}
			cmd := &cobra.Command{}
			f.Bind(cmd)
			if err := cmd.ParseFlags(strings.Fields(tc.args)); err != nil {
				t.Fatal(err)
			}
			err := f.Check()
			if err == nil {
				err = f.CheckCluster(tc.kind)
			}
			if tc.refused != "" {
				if r := report.Of(err); r.Exit != report.Usage || !strings.Contains(r.Message, tc.refused) || r.Try == "" {
					t.Errorf("%+v, want %q", r, tc.refused)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if got := strings.Join(f.ToArgs(), " "); got != tc.again {
				t.Errorf("again %q, want %q", got, tc.again)
			}
		})
	}
}

func TestCompletion(t *testing.T) {
	words, _ := drivers(nil, nil, "")
	if diff := cmp.Diff([]string{Builtin, Off, "image:", "module:"}, words); diff != "" {
		t.Error(diff)
	}
	if words, directive := drivers(nil, nil, "b"); !cmp.Equal(words, []string{Builtin}) || directive != cobra.ShellCompDirectiveNoFileComp {
		t.Errorf("%q, %d", words, directive)
	}
}
