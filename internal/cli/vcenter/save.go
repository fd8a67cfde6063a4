package vcenter

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"strings"

	"github.com/spf13/cobra"
	"github.com/vmware/govmomi/session"
	"github.com/vmware/govmomi/vapi/rest"
	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/soap"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/command"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/complete"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/env"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/output"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/report"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/iostreams"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/store"
)

type saveOptions struct {
	streams *iostreams.Streams
	connect func(context.Context) (*command.Target, error)

	vcenter string
	dir     string
	scrub   bool
	force   bool
	format  string
}

// NewCmdSave returns the command; runF, when not nil, runs in its place.
func NewCmdSave(d *command.Deps, runF func(context.Context, *saveOptions) error) *cobra.Command {
	o := &saveOptions{streams: d.Streams, connect: d.Connect}
	if runF == nil {
		runF = runSave
	}
	cmd := &cobra.Command{
		Use:   "save [VCENTER] DIR",
		Short: "Save the inventory of a vCenter to a folder",
		Long: `Save the inventory of a vCenter to a folder: objects, tags, storage policies,
roles and permissions, and user names, but no passwords. Load it with
"vcenter up --load".

The folder has the layout of govc object.save, with additional files; vcsim
-load accepts it too. VCENTER is optional if there is only one.`,
		Example: `  vsphere-sandbox vcenter save us us-saved
  vsphere-sandbox vcenter save us us-saved --force
  vsphere-sandbox vcenter save us for-a-bug-report --scrub`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 || len(args) > 2 {
				return report.UsageError("vsphere-sandbox vcenter save us us-saved", "needs the name of a vCenter and a folder to save it in")
			}
			return nil
		},
		ValidArgsFunction: func(cmd *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
			if len(args) > 0 {
				return nil, cobra.ShellCompDirectiveFilterDirs
			}
			return complete.VCenters(d)(cmd, args, word)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			o.dir = args[len(args)-1]
			if len(args) == 2 {
				o.vcenter = args[0]
			}
			return runF(cmd.Context(), o)
		},
	}
	f := cmd.Flags()
	f.BoolVar(&o.scrub, "scrub", false, "replace names of hosts and users, and IP addresses; leave out notes and certificates")
	f.BoolVar(&o.force, "force", false, "overwrite a folder that was saved before")
	output.BindFormat(cmd, &o.format, output.JSON, output.YAML)
	return cmd
}

// saved is what was saved, as programs get it.
type saved struct {
	VCenter     string `json:"vcenter"`
	Dir         string `json:"dir"`
	Objects     int    `json:"objects"`
	Tags        int    `json:"tags"`
	Policies    int    `json:"policies"`
	Permissions int    `json:"permissions"`
}

func runSave(ctx context.Context, o *saveOptions) error {
	t, err := o.connect(ctx)
	if err != nil {
		return err
	}
	access, err := env.Access(ctx, t, o.vcenter)
	if err != nil {
		return err
	}
	if len(access) > 1 {
		names := make([]string, len(access))
		for i, a := range access {
			names[i] = a.VCenter
		}
		return report.UsageError(fmt.Sprintf("vsphere-sandbox vcenter save %s %s", names[0], o.dir),
			"which vCenter? there are %s", strings.Join(names, ", "))
	}
	s, err := o.save(ctx, access[0])
	if err != nil {
		return saveError(ctx, access[0].VCenter, o.dir, err)
	}
	r := saved{
		VCenter: access[0].VCenter, Dir: o.dir,
		Objects: s.Objects, Tags: s.Tags, Policies: s.Policies, Permissions: s.Permissions,
	}
	if o.format != "" {
		return output.Object(o.streams.Out, o.format, "Saved", r)
	}
	_, err = fmt.Fprintf(o.streams.Out, "vCenter %s is saved in %s: %d objects, %d tags, %d storage policies, %d permissions\n",
		r.VCenter, r.Dir, r.Objects, r.Tags, r.Policies, r.Permissions)
	return err
}

// saveError says what to do about an error.
func saveError(ctx context.Context, vcenter, dir string, err error) error {
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.Is(err, store.ErrExists):
		return &report.Error{
			Code: "exists", Message: fmt.Sprintf("folder %s exists and is not empty", dir), Exit: report.Usage,
			Try: fmt.Sprintf("vsphere-sandbox vcenter save %s %s --force, to replace what was saved in it", vcenter, dir),
		}
	case errors.Is(err, store.ErrForeign):
		return &report.Error{
			Code: "exists", Message: fmt.Sprintf("folder %s holds something else than a saved inventory, and is not replaced", dir),
			Exit: report.Usage, Try: "another folder, or remove it yourself",
		}
	}
	if _, ok := errors.AsType[*fs.PathError](err); ok { // it is the folder, not the vCenter
		return &report.Error{Code: "not-saved", Message: fmt.Sprintf("vCenter %q is not saved", vcenter), Err: err, Try: "another folder, one that does not exist"}
	}
	return &report.Error{
		Code: "not-saved", Message: fmt.Sprintf("vCenter %q is not saved", vcenter), Err: err,
		Try: command.Program + " get vcenters",
	}
}

// save logs in and saves. It makes no session that stays.
func (o *saveOptions) save(ctx context.Context, a api.Access) (_ *store.Summary, err error) {
	u, err := soap.ParseURL(a.URL)
	if err != nil {
		return nil, err
	}
	sc := soap.NewClient(u, false)
	if a.CAFile != "" {
		if err := sc.SetRootCAs(a.CAFile); err != nil {
			return nil, err
		}
	}
	c, err := vim25.NewClient(ctx, sc)
	if err != nil {
		return nil, err
	}
	login := url.UserPassword(a.User, a.Password)
	soapSession := session.NewManager(c)
	if err := soapSession.Login(ctx, login); err != nil {
		return nil, err
	}
	after := context.WithoutCancel(ctx)
	defer func() { _ = soapSession.Logout(after) }() // it would expire, later
	r := rest.NewClient(c)
	if err := r.Login(ctx, login); err != nil {
		return nil, err
	}
	defer func() { _ = r.Logout(after) }()
	return store.Save(ctx, c, r, o.dir, store.Options{
		Name: a.VCenter, Scrub: o.scrub, Replace: o.force, Progress: o.progress(),
	})
}

// progress shows the progress on a line that is cleared at the end.
func (o *saveOptions) progress() func(done, all int) {
	if !o.streams.ErrTTY() {
		return nil
	}
	return func(done, all int) {
		if done == all {
			fmt.Fprint(o.streams.Err, "\r\x1b[K")
			return
		}
		fmt.Fprintf(o.streams.Err, "\rsaving %d of %d objects", done, all)
	}
}
