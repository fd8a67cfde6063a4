package api

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"
	"time"

	vimfault "github.com/vmware/govmomi/fault"
	"github.com/vmware/govmomi/find"
	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/types"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/retry"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/fault"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/gate"
)

// accountLocked returns the kind of an account that may not log in.
func accountLocked() *fault.Kind {
	return rulesFor(fault.Kind{
		Name:  "vcenter.account-locked",
		Short: "answers logins at a vCenter as those of a locked account",
		Long: `As after too many logins with a wrong password: a login returns
InvalidLogin, or 401 over REST, with the right password, too. Sessions that are
open stay open; with vcenter.session-expired, no session is left.

vCenter does not tell a locked account from a wrong password, so clients must not
take it for the end of the world, or of a node.`,
		Params: []fault.Param{callers()[0]},
		Reported: []string{
			"cloud-provider-vsphere#479", "cloud-provider-vsphere#774",
		},
	}, func(c *fault.Call) ([]gate.Rule, string) {
		who := match(fault.Values{"client": c.Params.Text("client")}).Client
		soap := gate.Match{Client: who, Methods: []string{"Login", "LoginByToken", "LoginExtensionByCertificate"}}
		rest := gate.Match{Client: who, Methods: []string{"POST /rest/com/vmware/cis/session", "POST /api/session"}}
		return []gate.Rule{
			rule(c, soap, gate.Fault{
				Type: "InvalidLogin", Message: "Cannot complete login due to an incorrect user name or password.",
			}),
			rule(c, rest, gate.RESTError{Type: "UNAUTHENTICATED", Message: "Authentication required."}),
		}, "refuses logins of " + cmp.Or(c.Params.Text("client"), "everybody")
	})
}

// account returns the account that the parameter names, or else the account of the cloud controller manager.
func account(ctx context.Context, c *fault.Call, v *sim.VCenter) (string, error) {
	name := c.Params.Text("account")
	if name == "" {
		secret, err := credentials(ctx, c)
		if err != nil {
			return "", err
		}
		if name = v.User(); secret != nil && len(secret.Data[userKey(c, v)]) > 0 {
			name = string(secret.Data[userKey(c, v)])
		}
	}
	for _, u := range v.Users() {
		if u.Name == name {
			return name, nil
		}
	}
	return "", &fault.Refusal{Code: "not-found", Message: fmt.Sprintf("vCenter %s has no account %q", v.Name(), name)}
}

// The keys of the Secret are the vCenters' addresses with these suffixes.
func userKey(c *fault.Call, v *sim.VCenter) string     { return hostOf(c, v) + ".username" }
func passwordKey(c *fault.Call, v *sim.VCenter) string { return hostOf(c, v) + ".password" }

// hostOf returns the address at which the cluster's clients reach a vCenter. It may differ for pods from the address on which it
// listens.
func hostOf(c *fault.Call, v *sim.VCenter) string {
	if c.Ground.Host != nil {
		return c.Ground.Host(v.Name())
	}
	return v.Host()
}

// credentials returns the Secret with the vCenters' accounts, or nil without a cluster.
func credentials(ctx context.Context, c *fault.Call) (*corev1.Secret, error) {
	if c.Ground.Cluster == nil {
		return nil, nil
	}
	namespace, name := c.Ground.Cluster.Credentials()
	secret, err := c.Ground.Cluster.Client().CoreV1().Secrets(namespace).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return nil, fmt.Errorf("credentials of the vCenters: %w", err)
	}
	return secret, nil
}

// updateSecret replaces the password of the vCenter's account in the Secret, if it is still the old one.
func updateSecret(ctx context.Context, c *fault.Call, v *sim.VCenter, from, to string) error {
	return retry.RetryOnConflict(retry.DefaultRetry, func() error {
		secret, err := credentials(ctx, c)
		if err != nil || secret == nil || string(secret.Data[passwordKey(c, v)]) != from {
			return err
		}
		secret.Data[passwordKey(c, v)] = []byte(to)
		_, err = c.Ground.Cluster.Client().CoreV1().Secrets(secret.Namespace).Update(ctx, secret, metav1.UpdateOptions{})
		return err
	})
}

// password is the state of an account whose password changed.
type password struct {
	Account string `json:"account"`
	Before  string `json:"before"`
	Now     string `json:"now"`
}

// passwordRotated returns the kind of a changed password, with or without an update of the Secret.
func passwordRotated() *fault.Kind {
	return fault.New(fault.Kind{
		Name:  "vcenter.password-rotated",
		Short: "changes the password of an account of a vCenter, and updates the Secret late or never",
		Long: `The account's password becomes another one, and its sessions end: the next login
with the old password is refused with InvalidLogin, or 401. The Secret with the
credentials stays as it is; with "tell", it gets the new password that much later,
as when an operator or a rotation job does so late.

It heals by the old password, in the Secret, too.`,
		Object: fault.VCenter,
		Needs:  []fault.Need{fault.Simulator},
		Params: []fault.Param{
			{Name: "account", Short: "whose password; that of the cloud controller manager, when empty", Type: fault.Text},
			{Name: "tell", Short: "how long until the Secret gets it; 0s is never", Type: fault.Duration, Default: "0s"},
			{Name: "keep-sessions", Short: "leaves open sessions alone, as a vCenter does: clients notice with their next login", Type: fault.Bool, Default: "false"},
		},
		Aspect:   "password",
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
				does += fmt.Sprintf(", and updates the Secret %s later", after)
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
			if err := updateSecret(ctx, c, v, s.Before, s.Now); err != nil {
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
			return updateSecret(ctx, c, v, s.Now, s.Before)
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

// permissions is the state of an account that may no longer see datacenters.
type permissions struct {
	Account string       `json:"account"`
	On      []permission `json:"on"`
}

// permission is the account's previous permission on a datacenter; nil if it had no explicit one.
type permission struct {
	Datacenter types.ManagedObjectReference `json:"datacenter"`
	Before     *types.Permission            `json:"before,omitempty"`
}

// permissionMissing returns the kind of a datacenter that an account may not read.
func permissionMissing() *fault.Kind {
	return fault.New(fault.Kind{
		Name:  "vcenter.permission-missing",
		Short: "takes an account's permission to see a datacenter away",
		Long: `The account gets the role NoAccess on the datacenter. To it, the datacenter and
all that is in it is not there: searches find nothing and do not say why, watches
see VMs disappear, and what is asked for by its reference is answered with
NoPermission. Others see what they saw.

A client that takes "not found" for "gone" deletes nodes whose VMs are well.`,
		Object: fault.VCenter,
		Needs:  []fault.Need{fault.Simulator},
		Params: []fault.Param{
			{Name: "account", Short: "whose permission; that of the cloud controller manager, when empty", Type: fault.Text},
			{Name: "datacenter", Short: "the datacenter, by name or path; all of them, when empty", Type: fault.Text},
		},
		Aspect:   "permissions",
		Reported: []string{"cloud-provider-vsphere#665", "vsphere-csi-driver#2475", "cloud-provider-vsphere#623"},
	}, fault.Steps[permissions]{
		Plan: func(ctx context.Context, c *fault.Call) (s permissions, does string, err error) {
			v, err := vcenter(c)
			if err != nil {
				return s, "", err
			}
			if s.Account, err = account(ctx, c, v); err != nil {
				return s, "", err
			}
			var names []string
			err = authorized(ctx, c, func(ctx context.Context, vc *vim25.Client, m *object.AuthorizationManager) error {
				dcs, err := datacenters(ctx, c, vc)
				if err != nil {
					return err
				}
				s.On = nil // a retry with another session
				names = nil
				for _, dc := range dcs {
					before, err := has(ctx, m, dc.Reference(), s.Account)
					if err != nil {
						return err
					}
					if before != nil && before.RoleId == noAccessID {
						return fault.Refuse("%s may not see datacenter %s as it is", s.Account, dc.Name())
					}
					s.On = append(s.On, permission{Datacenter: dc.Reference(), Before: before})
					names = append(names, dc.Name())
				}
				return nil
			})
			return s, fmt.Sprintf("hides datacenter %s from %s", strings.Join(names, ", "), s.Account), err
		},
		Apply: func(ctx context.Context, c *fault.Call, s *permissions) error {
			return authorized(ctx, c, func(ctx context.Context, _ *vim25.Client, m *object.AuthorizationManager) error {
				for _, p := range s.On {
					none := []types.Permission{{Principal: s.Account, RoleId: noAccessID, Propagate: true}}
					if err := m.SetEntityPermissions(ctx, p.Datacenter, none); err != nil {
						return err
					}
				}
				return nil
			})
		},
		Revert: func(ctx context.Context, c *fault.Call, s *permissions) error {
			return authorized(ctx, c, func(ctx context.Context, _ *vim25.Client, m *object.AuthorizationManager) error {
				var all []error
				for _, p := range s.On {
					all = append(all, restore(ctx, m, s.Account, p))
				}
				return errors.Join(all...)
			})
		},
	})
}

// noAccessID is the ID of the role NoAccess, the same in every vCenter.
const noAccessID int32 = -5

// authorized calls f with the authorization manager.
func authorized(ctx context.Context, c *fault.Call, f func(context.Context, *vim25.Client, *object.AuthorizationManager) error) error {
	ep := c.Ground.VCenter(c.Target.Name)
	return ep.SOAP(ctx, func(ctx context.Context, vc *vim25.Client) error {
		return f(ctx, vc, object.NewAuthorizationManager(vc))
	})
}

// datacenters returns those that the parameter selects.
func datacenters(ctx context.Context, c *fault.Call, vc *vim25.Client) ([]*object.Datacenter, error) {
	name := c.Params.Text("datacenter")
	pattern := name
	if name == "" {
		pattern = "/..."
	}
	dcs, err := find.NewFinder(vc).DatacenterList(ctx, pattern)
	if missing := new(find.NotFoundError); errors.As(err, &missing) {
		return nil, &fault.Refusal{Code: "not-found", Message: fmt.Sprintf("vCenter %s has no datacenter %q", c.Target.Name, name)}
	}
	return dcs, err
}

// has returns the explicit permission of an account on an entity, or nil.
func has(ctx context.Context, m *object.AuthorizationManager, on types.ManagedObjectReference, account string) (*types.Permission, error) {
	list, err := m.RetrieveEntityPermissions(ctx, on, false)
	if err != nil {
		return nil, err
	}
	for _, p := range list {
		if !p.Group && same(p.Principal, account) {
			return &p, nil
		}
	}
	return nil, nil
}

// same reports whether DOMAIN\user, vCenter's form, and user@domain name the same account.
func same(principal, account string) bool {
	user, domain, _ := strings.Cut(account, "@")
	return strings.EqualFold(principal, account) || strings.EqualFold(principal, domain+`\`+user)
}

// restore restores the permission on one datacenter, unless that is gone.
func restore(ctx context.Context, m *object.AuthorizationManager, account string, p permission) error {
	now, err := has(ctx, m, p.Datacenter, account)
	switch {
	case vimfault.Is(err, &types.ManagedObjectNotFound{}):
		return nil
	case err != nil:
		return err
	case now == nil || now.RoleId != noAccessID:
		return nil // healed before, or changed since
	case p.Before == nil:
		return m.RemoveEntityPermission(ctx, p.Datacenter, account, false)
	}
	return m.SetEntityPermissions(ctx, p.Datacenter, []types.Permission{*p.Before})
}
