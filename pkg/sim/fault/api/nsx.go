package api

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/nearest"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/fault"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/gate"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/nsx"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/nsx/tree"
)

// nsxManager is the NSX Manager as a target.
type nsxManager struct {
	*nsx.Manager
	name string
}

// Name implements [endpoint].
func (m nsxManager) Name() string { return m.name }

// manager returns the target, which must be the NSX Manager.
func manager(c *fault.Call) (nsxManager, error) {
	if c.Ground.NSX == nil || c.Ground.NSX() == nil {
		return nsxManager{}, &fault.Refusal{Code: "not-found", Message: "there is no NSX Manager", Try: "add nsx: {} to spec of the topology"}
	}
	return nsxManager{c.Ground.NSX(), c.Target.Name}, nil
}

// operations returns the parameters that select calls of the Policy API.
func operations() []fault.Param {
	return []fault.Param{
		{Name: "client", Short: "who is hit: a text in the User-Agent; everybody, when empty", Type: fault.Text},
		{Name: "account", Short: "the user who is hit, with * and ? as wildcards", Type: fault.Text},
		{Name: "methods", Short: "the calls that are hit, with commas between them: PUT /policy/api/v1/infra/lb-pools/*", Type: fault.Text},
	}
}

// ofNSX returns a kind that is a rule of the gate of the NSX Manager.
func ofNSX(k fault.Kind, act func(fault.Values) (gate.Action, string)) *fault.Kind {
	k.Object, k.Needs = fault.NSX, []fault.Need{fault.Network}
	return gated(k, func(c *fault.Call) ([]gate.Rule, string) {
		action, does := act(c.Params)
		return []gate.Rule{rule(c, match(c.Params), action)}, does + " " + victims(c.Params)
	})
}

func nsxDown() *fault.Kind {
	return ofNSX(fault.Kind{
		Name:  "nsx.down",
		Short: "takes the NSX Manager's API away: connections are cut, new ones refused",
		Long: `For everybody, nothing listens any more. For some clients or calls only, their
connections are closed without an answer. Objects survive, and load balancers that are
realized continue to serve.

Services must keep the addresses that they have. New ones stay pending, with an Event.`,
		Params: operations(),
	}, func(fault.Values) (gate.Action, string) { return gate.Outage{}, "is not there for" })
}

func nsxUnavailable() *fault.Kind {
	return ofNSX(fault.Kind{
		Name:  "nsx.unavailable",
		Short: "answers calls to the NSX Manager with status 503, as its proxy does while services start",
		Long: `The reverse proxy of an NSX Manager is up before the services behind it are. Its
answer is a page of text, which is no JSON.`,
		Params: params([]fault.Param{
			{Name: "code", Short: "the HTTP status, 400 to 599", Type: fault.Number, Default: "503"},
		}, operations(), chance()),
	}, func(v fault.Values) (gate.Action, string) {
		code := v.Number("code")
		return gate.HTTPStatus{Code: code}, fmt.Sprintf("answers %d %s to", code, http.StatusText(code))
	})
}

func nsxThrottled() *fault.Kind {
	return ofNSX(fault.Kind{
		Name:  "nsx.throttled",
		Short: "lets so many calls a second through to the NSX Manager and answers the others with 429",
		Long: `NSX limits the calls of a client to 100 a second. Here the limit is as low as you
like: so many calls a second pass, all clients taken together; the others are answered
with status 429, error 102 and Retry-After.`,
		Params: params([]fault.Param{
			{Name: "rate", Short: "how many calls a second pass", Type: fault.Number, Default: "2"},
			{Name: "code", Short: "the HTTP status of the others: 429 for the limit of a client, 503 for an overloaded manager", Type: fault.Number, Default: "429"},
		}, operations()),
	}, func(v fault.Values) (gate.Action, string) {
		n := v.Number("rate")
		return gate.Throttle{Rate: float64(n), Code: v.Number("code")}, fmt.Sprintf("lets %d calls a second pass of", n)
	})
}

func nsxLatency() *fault.Kind {
	return ofNSX(fault.Kind{
		Name:  "nsx.latency",
		Short: "makes the NSX Manager's API slow",
		Long: `Each call waits for the delay, give or take up to the jitter, before the manager
sees it. The delay is not scaled by the sandbox's speed.`,
		Params: params(delays(), operations(), chance()),
	}, delayed)
}

func nsxHang() *fault.Kind {
	return ofNSX(fault.Kind{
		Name:  "nsx.hang",
		Short: "holds the NSX Manager's answers back until the fault heals",
		Long: `Connections are accepted and requests are read, but no answer comes. When the fault
heals, every client that is still there gets its answer.`,
		Params: operations(),
	}, func(fault.Values) (gate.Action, string) { return gate.Hang{}, "holds back answers to" })
}

func nsxReset() *fault.Kind {
	return ofNSX(fault.Kind{
		Name:  "nsx.reset-mid-body",
		Short: "resets connections to the NSX Manager in the midst of its answers",
		Long: `The manager does what it was asked for, and the connection is reset after so many
bytes of the answer: the client cannot know whether the object was made. A client that
makes it again under another identifier leaks the first.`,
		Params: params([]fault.Param{
			{Name: "bytes", Short: "how much of the answer's body is let through", Type: fault.Number, Default: "16"},
		}, operations(), chance()),
	}, func(v fault.Values) (gate.Action, string) {
		n := max(1, v.Number("bytes"))
		return gate.Reset{Bytes: n}, fmt.Sprintf("resets connections after %d bytes of answers to", n)
	})
}

func nsxError() *fault.Kind {
	return ofNSX(fault.Kind{
		Name:  "nsx.error",
		Short: "answers calls to the NSX Manager with an error of the Policy API",
		Long: `Any error of NSX, in the form that clients of the Policy API expect. The manager
itself does nothing.`,
		Params: params([]fault.Param{
			{Name: "error", Short: "the type of the error: UNAUTHENTICATED, UNAUTHORIZED, NOT_FOUND, TOO_MANY_REQUESTS", Type: fault.Text, Default: "INTERNAL_SERVER_ERROR"},
			{Name: "message", Short: "what clients print", Type: fault.Text},
		}, operations(), chance()),
	}, func(v fault.Values) (gate.Action, string) {
		a := gate.RESTError{Type: v.Text("error"), Message: v.Text("message")}
		return a, fmt.Sprintf("answers error %s to", a.Type)
	})
}

func nsxConflict() *fault.Kind {
	k := fault.Kind{
		Name:  "nsx.conflict",
		Short: "answers changes of NSX objects as if another client had changed them first",
		Long: `Each object has a revision, and a PUT with an old one is refused with status 412. While
NSX still works at an earlier change, it answers 409. A client must read the object again
and repeat its change. Reads are not hit.`,
		Params: params([]fault.Param{
			{Name: "error", Short: "409 or 412", Type: fault.Text, Default: conflictError, Choices: []string{conflictError, "PRECONDITION_FAILED"}},
			{Name: "methods", Short: "the calls that are hit, with commas between them; all changes, when empty", Type: fault.Text},
		}, without(operations(), "methods"), chance()),
		Object: fault.NSX, Needs: []fault.Need{fault.Network},
	}
	return gated(k, func(c *fault.Call) ([]gate.Rule, string) {
		m := match(c.Params)
		if len(m.Methods) == 0 {
			m.Methods = []string{"PUT /policy/*", "PATCH /policy/*", "DELETE /policy/*"}
		}
		a := gate.RESTError{Type: c.Params.Text("error"), Message: "The object was modified by another client. Read it again and repeat the change."}
		return []gate.Rule{rule(c, m, a)}, "answers error " + a.Type + " to changes of " + victims(c.Params)
	})
}

const conflictError = "CONFLICT"

// nsxSessions returns the kind that ends the sessions of NSX.
func nsxSessions() *fault.Kind {
	return fault.New(fault.Kind{
		Name:  "nsx.session-expired",
		Short: "ends the sessions that clients have at the NSX Manager",
		Long: `As after 30 idle minutes: the next call of each session is answered with 401, and a
login makes a new one. Clients with a certificate or basic authentication have no session,
as the cloud controller manager of the sandbox: nsx.error with UNAUTHENTICATED is what
they would see.`,
		Object: fault.NSX, Needs: []fault.Need{fault.Network}, Momentary: true,
	}, fault.Steps[kept]{
		Plan: func(_ context.Context, c *fault.Call) (kept, string, error) {
			m, err := manager(c)
			if err != nil {
				return kept{}, "", err
			}
			n := m.Sessions()
			if n == 0 {
				return kept{}, "", &fault.Refusal{
					Code: "conflict", Message: "no client has a session at the NSX Manager: its clients authenticate with each call",
					Try: "vsphere-sandbox fault inject nsx.error --set error=UNAUTHENTICATED --set count=1",
				}
			}
			return kept{}, fmt.Sprintf("ends %d sessions", n), nil
		},
		Apply: func(_ context.Context, c *fault.Call, _ *kept) error {
			m, err := manager(c)
			if err != nil {
				return err
			}
			c.Note("nsx.sessions-ended", event.Warning, "%d sessions ended", m.EndSessions())
			return nil
		},
	})
}

// credentialsRotated returns the kind of credentials that NSX does not accept any more.
func credentialsRotated() *fault.Kind {
	return fault.New(fault.Kind{
		Name:  "nsx.credentials-rotated",
		Short: "makes the NSX Manager refuse the password or certificate of a user",
		Long: `As when an administrator has replaced them, and clients still have the old ones: each
call is answered with 403, and sessions end. Healing makes NSX accept them again.`,
		Object: fault.NSX, Needs: []fault.Need{fault.Network}, Aspect: "credentials",
		Params: []fault.Param{{Name: "account", Short: "the user", Type: fault.Text, Default: "cloud-controller-manager"}},
	}, fault.Steps[kept]{
		Plan: func(_ context.Context, c *fault.Call) (kept, string, error) {
			m, err := manager(c)
			if err != nil {
				return kept{}, "", err
			}
			user := c.Params.Text("account")
			if !slices.Contains(m.Users(), user) {
				return kept{}, "", unknown("the NSX Manager has no user", user, m.Users())
			}
			return kept{}, "refuses the credentials of " + user, planned(m, nil)
		},
		Apply: func(_ context.Context, c *fault.Call, _ *kept) error {
			m, err := manager(c)
			if err != nil {
				return err
			}
			return m.Reject(c.Params.Text("account"), true)
		},
		Revert: func(_ context.Context, c *fault.Call, _ *kept) error {
			m, err := manager(c)
			if err != nil {
				return err
			}
			return m.Reject(c.Params.Text("account"), false)
		},
	})
}

// unknown refuses a name, with those that exist.
func unknown(what, name string, names []string) error {
	message := fmt.Sprintf("%s %q", what, name)
	if near := nearest.Of(name, names); near != "" {
		message += fmt.Sprintf("; did you mean %q?", near)
	} else if len(names) > 0 {
		message += "; it has " + strings.Join(names, ", ")
	}
	return &fault.Refusal{Code: "not-found", Message: message, Try: "vsphere-sandbox get nsx"}
}

// obstructs returns a kind that prevents or delays realization.
func obstructs(k fault.Kind, what func(*fault.Call, nsxManager) (tree.Obstruction, string, error)) *fault.Kind {
	k.Object, k.Needs = fault.NSX, []fault.Need{fault.Network}
	return fault.New(k, fault.Steps[kept]{
		Plan: func(_ context.Context, c *fault.Call) (kept, string, error) {
			m, err := manager(c)
			if err != nil {
				return kept{}, "", err
			}
			_, does, err := what(c, m)
			return kept{}, does, err
		},
		Apply: func(_ context.Context, c *fault.Call, _ *kept) error {
			m, err := manager(c)
			if err != nil {
				return err
			}
			o, _, err := what(c, m)
			if err != nil {
				return err
			}
			return m.Tree().Obstruct(c.Lease, o)
		},
		Revert: func(_ context.Context, c *fault.Call, _ *kept) error {
			m, err := manager(c)
			if err != nil {
				return err
			}
			m.Tree().Clear(c.Lease)
			return nil
		},
	})
}

func poolExhausted() *fault.Kind {
	return obstructs(fault.Kind{
		Name:  "nsx.pool-exhausted",
		Short: "makes an IP pool of NSX have no free address",
		Long: `As when others have allocated the rest. Allocations keep their addresses; a new one is
not realized: its state is ERROR, and the pool reports no available addresses. Healing
realizes those that wait.`,
		Params: []fault.Param{{Name: "pool", Short: "the name of the pool; the first one, when empty", Type: fault.Text}},
	}, func(c *fault.Call, m nsxManager) (tree.Obstruction, string, error) {
		var names []string
		for _, o := range m.Tree().All() {
			if o["resource_type"] == "IpAddressPool" {
				names = append(names, fmt.Sprint(o["id"]))
			}
		}
		name := c.Params.Text("pool")
		switch {
		case name == "" && len(names) > 0:
			name = names[0]
		case !slices.Contains(names, name):
			return tree.Obstruction{}, "", unknown("NSX has no IP pool", name, names)
		}
		return tree.Obstruction{Pool: "/infra/ip-pools/" + name}, "has no free address in the IP pool " + name, nil
	})
}

func realizationFails() *fault.Kind {
	return obstructs(fault.Kind{
		Name:  "nsx.realization-fails",
		Short: "makes NSX accept objects and not realize them: their state is ERROR",
		Long: `The Policy API stores what is wanted, and the edges get it later. Here that fails for
all objects of a type that are made or changed while the fault lasts: the call succeeds, and
the realized state has the error. Healing realizes them.`,
		Params: []fault.Param{
			{Name: "type", Short: "the type of the objects", Type: fault.Text, Default: "LBVirtualServer", Choices: []string{
				"LBVirtualServer", "LBPool", "LBService", "LBTcpMonitorProfile", "IpAddressAllocation", "StaticRoutes",
			}},
			{Name: "reason", Short: "what the realized state reports", Type: fault.Text, Default: "no edge node accepts the configuration"},
		},
	}, func(c *fault.Call, _ nsxManager) (tree.Obstruction, string, error) {
		o := tree.Obstruction{Type: c.Params.Text("type"), Reason: c.Params.Text("reason")}
		return o, fmt.Sprintf("does not realize %s that change: %s", o.Type, o.Reason), nil
	})
}

func realizationSlow() *fault.Kind {
	return obstructs(fault.Kind{
		Name:  "nsx.realization-slow",
		Short: "makes NSX take longer to realize what was changed",
		Long: `An allocation has its address only when it is realized, and a deleted object blocks its
path until it is purged: both take that much longer. Calls are as quick as before.`,
		Params: []fault.Param{{Name: "delay", Short: "how much longer", Type: fault.Duration, Default: "10s"}},
	}, func(c *fault.Call, _ nsxManager) (tree.Obstruction, string, error) {
		d := c.Params.Duration("delay")
		if d <= 0 {
			return tree.Obstruction{}, "", &fault.Refusal{Code: "invalid", Message: "delay: must be positive"}
		}
		return tree.Obstruction{Delay: d}, fmt.Sprintf("realizes changes %s later", d.Round(time.Millisecond)), nil
	})
}

// NSXKinds returns the kinds of the NSX Manager.
func NSXKinds() []*fault.Kind {
	return []*fault.Kind{
		nsxDown(), nsxUnavailable(), nsxThrottled(), nsxLatency(), nsxHang(), nsxReset(), nsxError(), nsxConflict(), nsxSessions(),
		credentialsRotated(), poolExhausted(), realizationFails(), realizationSlow(),
	}
}
