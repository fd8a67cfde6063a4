package schema

import (
	"testing"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/clitest"
)

func TestSchema(t *testing.T) {
	e := clitest.NewEnv(nil)
	if r := e.Run(t.Context(), NewCmd(e.Deps, "thing", func() []byte { return []byte("{}\n") })); r.Exit != 0 || e.Out.String() != "{}\n" {
		t.Errorf("%+v\n%s", r, e.Out)
	}
}
