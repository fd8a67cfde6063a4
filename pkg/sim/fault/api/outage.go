package api

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/fault"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/gate"
)

func down() *fault.Kind {
	return ruled(fault.Kind{
		Name:  "vcenter.down",
		Short: "takes a vCenter's API away: connections are cut, new ones refused",
		Long: `For everybody, nothing listens any more: open connections are cut and new ones
are refused. For some clients or methods only, their connections are closed
without an answer. VMs, sessions and tasks are not affected.

Kubernetes should not care while it lasts: no node may be deleted, and none may
be called shut down, because their state is unknown.`,
		Params: callers(),
		Reported: []string{
			"kubernetes#42338", "kubernetes#50465", "kubernetes#34364", "cloud-provider-vsphere#479",
		},
	}, func(fault.Values) (gate.Action, string) { return gate.Outage{}, "is not there for" })
}

// unavailable returns the kind of a reverse proxy whose services are not up.
func unavailable() *fault.Kind {
	return ruled(fault.Kind{
		Name:  "vcenter.unavailable",
		Short: "answers calls to a vCenter with status 503, as its proxy does while services start",
		Long: `The reverse proxy of a vCenter is up before the services behind it are, and says
so with status 503 and a page of HTML or text, which is neither a SOAP fault nor
JSON.`,
		Params: params([]fault.Param{
			{Name: "code", Short: "the HTTP status, 400 to 599", Type: fault.Number, Default: "503"},
		}, callers(), chance()),
		Reported: []string{"cluster-api-provider-vsphere#1818"},
	}, func(v fault.Values) (gate.Action, string) {
		code := v.Number("code")
		return gate.HTTPStatus{Code: code}, fmt.Sprintf("answers %d %s to", code, http.StatusText(code))
	})
}

// The ways in which one service of a vCenter can fail.
const (
	unavailableService = "unavailable"
	hungService        = "hung"
	resetService       = "reset"
)

// cnsDown returns the kind of a vSAN health service that is down. It serves CNS on every vCenter.
func cnsDown() *fault.Kind {
	return serviceDown(fault.Kind{
		Name:  "cns.down",
		Short: "takes Cloud Native Storage of a vCenter down, and nothing else",
		Long: `CNS is served by the vSAN health service, behind the same proxy as the rest: when
that service is down, logins and inventory work, nodes are what they were, and no
volume can be made, attached, detached, deleted or even asked for.`,
		Reported: []string{"vsphere-csi-driver#3041"},
	}, "CNS", "Cns*")
}

// spbmDown returns the kind of a policy service that is down.
func spbmDown() *fault.Kind {
	return serviceDown(fault.Kind{
		Name:  "spbm.down",
		Short: "takes the service for storage policies of a vCenter down, and nothing else",
		Long: `Volumes of StorageClasses that name a policy cannot be created, because no service can
tell which datastores meet it. Those of classes without one can, and what there is
can be attached and detached.`,
	}, "the service for storage policies", "Pbm*")
}

// serviceDown returns a kind that makes those methods fail; name is the name of the service.
func serviceDown(k fault.Kind, name string, methods ...string) *fault.Kind {
	k.Params = []fault.Param{{
		Name: "how", Short: "status 503 from the proxy, no answer until it heals, or a connection that is reset", Type: fault.Text, Default: unavailableService,
		Choices: []string{unavailableService, hungService, resetService},
	}}
	return rulesFor(k, func(c *fault.Call) ([]gate.Rule, string) {
		how := c.Params.Text("how")
		var action gate.Action = gate.HTTPStatus{Code: 503}
		switch how {
		case hungService:
			action = gate.Hang{}
		case resetService:
			action = gate.Reset{}
		}
		return []gate.Rule{rule(c, gate.Match{Transport: gate.SOAP, Methods: methods}, action)}, fmt.Sprintf("take %s down: %s", name, how)
	})
}

// restart returns the kind of a restart of vpxd.
func restart() *fault.Kind {
	return fault.New(fault.Kind{
		Name:  "vcenter.restart",
		Short: "restarts a vCenter: sessions end, connections are cut, and it is away for a while",
		Long: `As "service-control --restart vpxd" does: every session ends, for SOAP and REST,
connections are cut and refused for the downtime, which the sandbox's speed
scales; then it is back with the inventory, tags and permissions that it had.
Clients must log in and create their property filters again.

It is over when the vCenter is back.`,
		Object: fault.VCenter,
		Needs:  []fault.Need{fault.Simulator},
		Params: []fault.Param{
			{Name: "downtime", Short: "how long it is away, before it is scaled by the sandbox's speed", Type: fault.Duration, Default: "30s"},
		},
		Aspect:    "running",
		Momentary: true,
		Reported:  []string{"cloud-provider-vsphere#479"},
	}, fault.Steps[kept]{
		Plan: func(_ context.Context, c *fault.Call) (kept, string, error) {
			v, err := vcenter(c)
			if err != nil {
				return kept{}, "", err
			}
			does := fmt.Sprintf("restarts; ends %d sessions, and is away for %s", len(v.Sessions()), scaled(c, "downtime"))
			return kept{}, does, planned(v, nil)
		},
		Apply: func(ctx context.Context, c *fault.Call, _ *kept) error {
			v, err := vcenter(c)
			if err != nil {
				return err
			}
			id, err := v.Gate().Add(gate.Rule{Name: c.Lease, Action: gate.Outage{}})
			if err != nil {
				return err
			}
			v.EndSessions("")
			downtime := time.NewTimer(scaled(c, "downtime"))
			defer downtime.Stop()
			select {
			case <-downtime.C:
			case <-ctx.Done(): // it comes back anyway
			}
			if err := v.Gate().Remove(context.WithoutCancel(ctx), id); err != nil {
				return err
			}
			c.Note("vcenter.restarted", event.Info, "vCenter is back")
			return nil
		},
	})
}

// scaled returns a duration parameter at the sandbox's speed.
func scaled(c *fault.Call, param string) time.Duration {
	return time.Duration(float64(c.Params.Duration(param)) / max(1, float64(c.Ground.Speed)))
}

// resetMidBody returns the kind of a connection that breaks within an answer.
func resetMidBody() *fault.Kind {
	return ruled(fault.Kind{
		Name:  "vcenter.reset-mid-body",
		Short: "resets connections to a vCenter in the midst of its answers",
		Long: `The vCenter does what it was asked for, and the connection is reset after so many
bytes of the answer: the client cannot know whether it was done.`,
		Params: params([]fault.Param{
			{Name: "bytes", Short: "how much of the answer's body is let through", Type: fault.Number, Default: "64"},
		}, callers(), chance()),
	}, func(v fault.Values) (gate.Action, string) {
		n := max(1, v.Number("bytes"))
		return gate.Reset{Bytes: n}, fmt.Sprintf("resets connections after %d bytes of answers to", n)
	})
}

// blackHole returns the kind of a network that drops packets.
func blackHole() *fault.Kind {
	return ruled(fault.Kind{
		Name:  "vcenter.black-hole",
		Short: "swallows calls to a vCenter: nothing answers, nothing refuses",
		Long: `As behind a firewall that drops packets: connections stay open and silent until
the client gives up or the fault heals, and are reset then. What was called never
reaches the vCenter. For everybody, new connections do not even get a TLS
handshake.

A client without timeouts hangs, and with it all that waits for its locks:
upstream's cloud provider has one lock for the connections to all vCenters.`,
		Params: callers(),
	}, func(fault.Values) (gate.Action, string) { return gate.BlackHole{}, "swallows the calls of" })
}

// hang returns the kind of a vCenter that stops answering.
func hang() *fault.Kind {
	return ruled(fault.Kind{
		Name:  "vcenter.hang",
		Short: "holds a vCenter's answers back until the fault heals",
		Long: `Connections are accepted and requests are read, but no answer comes, not even to
those that were under way. When the fault heals, every client that is still there
gets its answer, as after a long pause of the vCenter's process.`,
		Params: callers(),
	}, func(fault.Values) (gate.Action, string) { return gate.Hang{}, "holds back answers to" })
}

// latency returns the kind of a slow vCenter, or a slow network path to it.
func latency() *fault.Kind {
	return ruled(fault.Kind{
		Name:  "vcenter.latency",
		Short: "makes a vCenter's API slow",
		Long: `Each call waits for the delay, give or take up to the jitter, before the vCenter
sees it. The delay is not scaled by the sandbox's speed: it is compared with the
time-outs of clients, which are not, either.`,
		Params:   params(delays(), callers(), chance()),
		Reported: []string{"kubernetes#75285"},
	}, delayed)
}

// delays are the parameters of delayed.
func delays() []fault.Param {
	return []fault.Param{
		{Name: "delay", Short: "how long each call is held back", Type: fault.Duration, Default: "1s"},
		{Name: "jitter", Short: "how much longer or shorter it may be; no more than the delay", Type: fault.Duration, Default: "0s"},
	}
}

// delayed makes an API slow.
func delayed(v fault.Values) (gate.Action, string) {
	delay, jitter := v.Duration("delay"), v.Duration("jitter")
	does := fmt.Sprintf("answers %s later", delay)
	if jitter > 0 {
		does = fmt.Sprintf("answers %s ± %s later", delay, jitter)
	}
	return gate.Latency{Delay: delay, Jitter: jitter}, does + " to"
}

// throttled returns the kind of an overloaded vCenter.
func throttled() *fault.Kind {
	return ruled(fault.Kind{
		Name:  "vcenter.throttled",
		Short: "lets so many calls a second through to a vCenter and answers the others with 503",
		Long: `As an overloaded vCenter, or a proxy that protects one: of the calls that are
hit, so many a second pass, all clients taken together; the others are answered
with status 503 and Retry-After.

A client that asks once for each node runs into it; one that watches does not.`,
		Params: params([]fault.Param{
			{Name: "rate", Short: "how many calls a second pass", Type: fault.Number, Default: "5"},
		}, callers()),
		Reported: []string{"cluster-api-provider-vsphere#1818", "kubernetes#75285"},
	}, func(v fault.Values) (gate.Action, string) {
		n := v.Number("rate")
		return gate.Throttle{Rate: float64(n)}, fmt.Sprintf("lets %d calls a second pass of", n)
	})
}
