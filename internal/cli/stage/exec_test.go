package stage

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/scenario"
)

func TestCommandsOfScenarios(t *testing.T) {
	for _, tc := range []struct {
		argv []string
		want string
		err  string
	}{
		{[]string{"kubectl", "get", "nodes"}, "--name lab kubectl get nodes\n", ""},
		{[]string{"govc", "ls"}, "--name lab govc ls\n", ""},
		{[]string{"vsphere-sandbox", "vm", "reset", "a"}, "--name lab vm reset a\n", ""},
		{[]string{"rm", "-rf", "/"}, "", `command "rm": scenarios run kubectl, govc and vsphere-sandbox`},
		{nil, "", "there is no command"},
	} {
		out, err := Runner("/bin/echo", "lab")(t.Context(), scenario.Command{Argv: tc.argv})
		message := ""
		if err != nil {
			message = err.Error()
		}
		if d := cmp.Diff([]string{tc.want, tc.err}, []string{out.Stdout, message}); d != "" {
			t.Errorf("%v: %s", tc.argv, d)
		}
	}
	if out, err := Runner("/bin/false", "lab")(t.Context(), scenario.Command{Argv: []string{"kubectl"}}); err != nil || out.Exit != 1 {
		t.Errorf("%+v, %v", out, err)
	}
	var l limited
	for range 3 {
		if n, err := l.Write(make([]byte, mostOutput/2+1)); n != mostOutput/2+1 || err != nil {
			t.Fatal(n, err)
		}
	}
	if l.Len() != mostOutput {
		t.Errorf("kept %d bytes", l.Len())
	}
}
