package api

import (
	"context"
	"crypto/rand"
	"fmt"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/fault"
)

// password is the state of an account whose password changed.
type password struct {
	Account string `json:"account"`
	Before  string `json:"before"`
	Now     string `json:"now"`
}

// passwordRotated is a password that has changed, with or without anybody having told Kubernetes.
func passwordRotated() *fault.Kind {
	return fault.New(fault.Kind{
		Name:  "vcenter.password-rotated",
		Short: "changes the password of an account of a vCenter, and tells Kubernetes late or never",
		Long: `The account's password becomes another one, and its sessions end: the next login
with the old password is refused with InvalidLogin, or 401. The Secret with the
credentials stays as it is; with "tell", it gets the new password that much later,
as when an operator, or whatever rotates passwords, comes round to it.

It heals by the old password, in the Secret, too.`,
		Object: fault.VCenter,
		Needs:  []fault.Need{fault.Simulator},
		Params: []fault.Param{
			{Name: "account", Short: "whose password; that of the cloud controller manager, when empty", Type: fault.Text},
			{Name: "tell", Short: "how long until the Secret gets it; 0s is never", Type: fault.Duration, Default: "0s"},
			{Name: "keep-sessions", Short: "leaves open sessions alone, as a vCenter does: clients notice with their next login", Type: fault.Bool, Default: "false"},
		},
		Touches:  "password",
		Reported: []string{"cloud-provider-vsphere#479", "cloud-provider-vsphere#774", "cloud-provider-vsphere#786"},
	}, fault.Steps[password]{
		Plan: func(ctx context.Context, c *fault.Call) (password, string, error) {
			v, err := vcenter(c)
			if err != nil {
				return password{}, "", err
			}
			name, err := account(ctx, c, v)
			if err != nil {
				return password{}, "", err
			}
			does := "changes the password of " + name
			if after := c.Params.Duration("tell"); after > 0 {
				if c.Ground.Cluster == nil {
					return password{}, "", &fault.Refusal{Code: "unsupported", Message: "tell: there is no cluster here, and no Secret"}
				}
				does += fmt.Sprintf(", and tells the Secret %s later", after)
			}
			return password{Account: name, Before: passwordOf(v, name), Now: rand.Text()}, does, nil
		},
		Apply: func(_ context.Context, c *fault.Call, s *password) error {
			v, err := vcenter(c)
			if err != nil {
				return err
			}
			if err := v.SetPasswordOf(s.Account, s.Now); err != nil {
				return err
			}
			if !c.Params.Bool("keep-sessions") {
				v.EndSessionsWhere(func(o sim.Session) bool { return o.User == s.Account })
			}
			return nil
		},
		Run: func(ctx context.Context, c *fault.Call, s *password) error {
			after := c.Params.Duration("tell")
			if after == 0 {
				return nil
			}
			v, err := vcenter(c)
			if err != nil {
				return err
			}
			wait := time.NewTimer(after)
			defer wait.Stop()
			select {
			case <-ctx.Done():
				return nil
			case <-wait.C:
			}
			if err := tell(ctx, c, v, s.Before, s.Now); err != nil {
				return err
			}
			c.Note("vcenter.password-told", event.Info, "the Secret has the new password of %s", s.Account)
			return nil
		},
		Revert: func(ctx context.Context, c *fault.Call, s *password) error {
			v, err := vcenter(c)
			if err != nil {
				return err
			}
			if passwordOf(v, s.Account) == s.Now {
				if err := v.SetPasswordOf(s.Account, s.Before); err != nil {
					return err
				}
			}
			return tell(ctx, c, v, s.Now, s.Before)
		},
	})
}

func passwordOf(v *sim.VCenter, name string) string {
	for _, u := range v.Users() {
		if u.Name == name {
			return u.Password
		}
	}
	return ""
}
