package explain

import (
	"cmp"
	"fmt"
	"net"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
)

// Service is the case of a Service.
type Service struct {
	Around
	Service *corev1.Service
	// Slices are its EndpointSlices, Reported the Events on it: there a load balancer says what it does, or why it cannot.
	Slices   Answer[[]discoveryv1.EndpointSlice]
	Reported Answer[[]corev1.Event]
	// NSX are the objects of the NSX Manager, of all Services; nil without a manager.
	NSX *Answer[[]api.NSXObject]
}

// Explain answers all questions about it.
func (c Service) Explain() api.Explanation {
	key := c.Service.Namespace + "/" + c.Service.Name
	about := func(e event.Event) bool { return e.Object.Kind == "Service" && e.Object.Name == key }
	e := api.Explanation{Subject: api.Subject{Kind: "service", Name: key}, Events: History(c.Events, about)}
	e.Questions = sorted([]question{c.address(), c.realized(), c.forwarded(), c.endpoints()})
	e.Summary = summary("service "+key, e.Questions, "")
	return e
}

// address says where clients outside the cluster reach it, or why they do not.
func (c Service) address() (q question) {
	s := c.Service
	q.Ask = "Where does it answer?"
	q.saw(apiServer, neither, "Service "+s.Name, "%s", sawSpec(s))
	if s.Spec.Type != corev1.ServiceTypeLoadBalancer {
		q.answer(event.Info, "", "in the cluster only: type %s gets no address outside of it, as type LoadBalancer does", cmp.Or(s.Spec.Type, corev1.ServiceTypeClusterIP))
		return q
	}
	places, flaws := ingress(s)
	for _, p := range places {
		q.saw(apiServer, fine, "status.loadBalancer", "%s", p)
	}
	for _, f := range flaws {
		q.saw(apiServer, wrong, "status.loadBalancer", "%s", f)
	}
	warning := c.warning(&q)
	if s.DeletionTimestamp != nil {
		q.Ask = "Why is it still there?"
		text := "it is being deleted; its finalizers are " + and(s.Finalizers, "and")
		if warning != "" {
			text += ". " + warning
		}
		q.answer(event.Warning, "", "%s", text)
		return q
	}
	if len(places) > 0 {
		q.answer(event.Info, "", "it answers at %s", and(places, "and"))
		return q
	}
	q.Ask = "Why has it no address?"
	switch {
	case warning != "":
		q.answer(event.Error, "", "%s", warning)
	case c.Reported.Err != nil:
		q.answer(event.Warning, "", "unknown: its Events could not be read")
	case s.Spec.LoadBalancerClass != nil:
		q.answer(event.Warning, "", "nothing has served its class %q yet", *s.Spec.LoadBalancerClass)
	default:
		q.answer(event.Warning, "", "nothing has given it one yet, and no Event says why")
	}
	return q
}

// Realized is the state of an object that NSX has realized, failed of one that it cannot.
const (
	Realized = "REALIZED"
	failed   = "ERROR"
)

// InNSX returns the worst state of the objects that NSX has of a Service, "" if it has none, and the reason for an ERROR.
func InNSX(objects []api.NSXObject, service string) (state, why string) {
	for _, o := range objects {
		switch {
		case o.Service != service || state == failed:
		case o.State == failed:
			state, why = failed, "NSX cannot realize "+o.Type+" "+o.Name+": "+o.Error
		case state == "" || o.State != Realized:
			state = o.State
		}
	}
	return state, why
}

// realized says what NSX has made of the Service.
func (c Service) realized() (q question) {
	s := c.Service
	if c.NSX == nil || s.Spec.Type != corev1.ServiceTypeLoadBalancer {
		return q
	}
	q.Ask = "What does NSX have of it?"
	if c.NSX.Err != nil {
		q.saw(nsxManager, unknown, "objects", "%v", c.NSX.Err)
		q.answer(event.Warning, "", "unknown: the objects of the NSX Manager could not be read")
		return q
	}
	const look = "vsphere-sandbox get nsx "
	all, waiting := 0, 0
	for _, o := range c.NSX.Is {
		if o.Service != s.Namespace+"/"+s.Name {
			continue
		}
		all++
		text := o.State
		if o.Address != "" {
			text += ", " + o.Address
		}
		switch o.State {
		case Realized:
			q.saw(nsxManager, fine, o.Type+" "+o.Name, "%s", text)
		case failed:
			q.saw(nsxManager, wrong, o.Type+" "+o.Name, "%s: %s", text, o.Error)
		default:
			q.saw(nsxManager, neither, o.Type+" "+o.Name, "%s", text)
			waiting++
		}
	}
	state, why := InNSX(c.NSX.Is, s.Namespace+"/"+s.Name)
	switch {
	case state == failed:
		q.answer(event.Error, look+s.Namespace+"/"+s.Name, "%s", why)
	case all == 0:
		q.answer(event.Warning, "vsphere-sandbox logs ccm", "nothing: the cloud controller manager has made no object for it")
	case waiting > 0:
		q.answer(event.Warning, look+s.Namespace+"/"+s.Name, "%d objects, of which NSX has not realized %d yet", all, waiting)
	default:
		q.answer(event.Info, "", "%d objects, all realized", all)
	}
	return q
}

// sawSpec says what of a Service matters for its address.
func sawSpec(s *corev1.Service) string {
	text := "type " + string(cmp.Or(s.Spec.Type, corev1.ServiceTypeClusterIP))
	if s.Spec.LoadBalancerClass != nil {
		text += ", class " + *s.Spec.LoadBalancerClass
	}
	var ports []string
	for _, p := range s.Spec.Ports {
		ports = append(ports, fmt.Sprintf("%d/%s", p.Port, cmp.Or(p.Protocol, corev1.ProtocolTCP)))
	}
	return text + ", ports " + strings.Join(ports, ", ")
}

// ingress lists the places where a Service answers by its status, and its ports that do not answer there, or elsewhere.
func ingress(s *corev1.Service) (places, flaws []string) {
	for _, i := range s.Status.LoadBalancer.Ingress {
		at := cmp.Or(i.IP, i.Hostname)
		for _, p := range s.Spec.Ports {
			n := slices.IndexFunc(i.Ports, func(st corev1.PortStatus) bool {
				return st.Port == p.Port && cmp.Or(st.Protocol, corev1.ProtocolTCP) == cmp.Or(p.Protocol, corev1.ProtocolTCP) && st.Error != nil
			})
			if n >= 0 {
				flaws = append(flaws, fmt.Sprintf("port %d: %s", p.Port, *i.Ports[n].Error))
				continue
			}
			places = append(places, net.JoinHostPort(at, fmt.Sprint(p.Port)))
		}
		if len(s.Spec.Ports) == len(flaws) && len(places) == 0 {
			places = append(places, at)
		}
	}
	return places, flaws
}

// warning adds the Events on the Service and returns what the newest warning says.
func (c Service) warning(q *question) (text string) {
	if c.Reported.Err != nil {
		q.saw(apiServer, unknown, "Events", "%v", c.Reported.Err)
		return ""
	}
	for _, e := range c.Reported.Is {
		verdict := neither
		if e.Type == corev1.EventTypeWarning {
			verdict, text = wrong, e.Message
		}
		q.saw(apiServer, verdict, "Event "+e.Reason, "%s", e.Message)
	}
	return text
}

// endpoints says which pods answer.
func (c Service) endpoints() (q question) {
	s := c.Service
	if s.Spec.Type == corev1.ServiceTypeExternalName {
		return q
	}
	q.Ask = "What answers?"
	if c.Slices.Err != nil {
		q.saw(apiServer, unknown, "EndpointSlices", "%v", c.Slices.Err)
		q.answer(event.Warning, "", "unknown: its EndpointSlices could not be read")
		return q
	}
	ready, all := 0, 0
	for _, slice := range c.Slices.Is {
		for _, e := range slice.Endpoints {
			what := strings.Join(e.Addresses, ", ")
			if e.TargetRef != nil {
				what = e.TargetRef.Kind + " " + e.TargetRef.Name
			}
			where := ""
			if e.NodeName != nil {
				where = " on node " + *e.NodeName
			}
			all++
			if e.Conditions.Ready == nil || *e.Conditions.Ready {
				ready++
				q.saw(apiServer, fine, what, "ready%s", where)
			} else {
				q.saw(apiServer, neither, what, "not ready%s", where)
			}
		}
	}
	switch {
	case ready > 0:
		q.answer(event.Info, "", "%d of %d endpoints are ready", ready, all)
	case all > 0:
		q.answer(event.Error, "vsphere-sandbox kubectl get pods -n "+s.Namespace, "nothing: 0 of %d endpoints are ready", all)
	case len(s.Spec.Selector) == 0:
		q.answer(event.Warning, "", "nothing: it selects no pods, and there is no EndpointSlice for it")
	default:
		q.answer(event.Error, "vsphere-sandbox kubectl get pods -n "+s.Namespace+" -l "+selector(s.Spec.Selector), "nothing: no pod has its labels %s", selector(s.Spec.Selector))
	}
	return q
}

// selector is how kubectl takes labels.
func selector(labels map[string]string) string {
	var all []string
	for k, v := range labels {
		all = append(all, k+"="+v)
	}
	slices.Sort(all)
	return strings.Join(all, ",")
}
