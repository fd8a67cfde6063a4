package vcenter

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"io"
	"net/url"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/env"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/report"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim"
)

// runHost runs a standalone host until ctx ends, and prints the variables that point govc at it. It is no sandbox: other commands
// do not know it.
func (o *upOptions) runHost(ctx context.Context, front sim.Vcsim) (err error) {
	given := o.listen
	if len(given) == 0 {
		given = []string{"127.0.0.1:8989"}
	}
	listen, err := addresses(given, 1)
	if err != nil {
		return err
	}
	user, password := cmp.Or(o.username, "root"), cmp.Or(o.password, rand.Text())
	host, err := o.model.StartHost(ctx, listen[0], url.UserPassword(user, password), front)
	if err != nil {
		return &report.Error{Code: "host-failed", Message: "--esx: " + err.Error(), Try: upCommand + " --esx -l 127.0.0.1:0", Exit: report.Failure}
	}
	defer func() { err = errors.Join(err, host.Close()) }()
	lines := env.Lines(o.Getenv("SHELL"), env.Govc(api.Access{VCenter: "esx", URL: host.URL().String(), User: user, Password: password}, nil))
	if o.env != "" && o.env != "-" {
		err = writeEnv(ctx, o.env, lines)
	} else {
		_, err = io.WriteString(o.streams.Out, lines)
	}
	if err != nil {
		return err
	}
	<-ctx.Done()
	return nil
}
