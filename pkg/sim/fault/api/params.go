package api

import (
	"fmt"
	"strings"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/fault"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/gate"
)

// The names of clients that can be said for short, and how their User-Agents look.
const (
	clientCCM   = "ccm"        // ours: vsphere-cloud-provider; upstream: k8s-cloud-provider-vsphere (pkg/common/vclib/connection.go)
	clientCSI   = "csi"        // upstream: k8s-csi-useragent[-CLUSTER-FEATURE] (pkg/common/cns-lib/vsphere/virtualcenter.go)
	clientWatch = "node-watch" // the CCM's, when it waits for changes of VMs
	clientGovc  = "govc"       // govc/0.56.0
)

// agents are the patterns of a gate's [gate.Match].Client.
func agents() map[string]string {
	return map[string]string{
		clientCCM: "*cloud-provider*", clientCSI: "*csi*", clientWatch: "*cloud-provider*", clientGovc: "govc/*",
	}
}

// watchMethods are those of a client that waits for changes.
func watchMethods() []string {
	return []string{"WaitForUpdatesEx", "WaitForUpdates", "CheckForUpdates", "CreateFilter", "CancelWaitForUpdates"}
}

// whose are the parameters of every fault that happens to calls: which ones.
func whose() []fault.Param {
	return []fault.Param{
		{Name: "client", Short: "who is hit: ccm, csi, node-watch (the CCM's watch), govc, or a text in the User-Agent; everybody, when empty", Type: fault.Text},
		{Name: "account", Short: "the account whose sessions are hit, with * and ? as wildcards", Type: fault.Text},
		{Name: "transport", Short: "the API that is hit; both, when empty", Type: fault.Text, Choices: []string{string(gate.SOAP), string(gate.REST)}},
		{Name: "methods", Short: "the methods that are hit, with commas between them: FindAllByUuid, Cns*, /api/session", Type: fault.Text},
		{Name: "object", Short: "the name of the object that calls have to be about: worker-*", Type: fault.Text},
	}
}

// chance are the parameters of a fault that may happen to some of the calls only.
func chance() []fault.Param {
	return []fault.Param{
		{Name: "share", Short: "how many of these calls are hit", Type: fault.Fraction, Default: "1"},
		{Name: "count", Short: "after how many hits it is over; 0 is never", Type: fault.Number, Default: "0"},
	}
}

// params puts lists of parameters together.
func params(lists ...[]fault.Param) []fault.Param {
	var all []fault.Param
	for _, l := range lists {
		all = append(all, l...)
	}
	return all
}

// without leaves parameters out.
func without(list []fault.Param, names ...string) []fault.Param {
	var rest []fault.Param
next:
	for _, p := range list {
		for _, n := range names {
			if p.Name == n {
				continue next
			}
		}
		rest = append(rest, p)
	}
	return rest
}

// match is what the parameters of whose pick.
func match(v fault.Values) gate.Match {
	m := gate.Match{
		Client: v.Text("client"), User: v.Text("account"), Transport: gate.Transport(v.Text("transport")),
		Methods: split(v.Text("methods")), Object: gate.Object{Name: v.Text("object")},
	}
	if pattern, ok := agents()[m.Client]; ok {
		if m.Client == clientWatch && len(m.Methods) == 0 {
			m.Methods = watchMethods()
		}
		m.Client = pattern
	}
	return m
}

// split parts a list at its commas.
func split(list string) []string {
	var parts []string
	for p := range strings.SplitSeq(list, ",") {
		if p = strings.TrimSpace(p); p != "" {
			parts = append(parts, p)
		}
	}
	return parts
}

// victims says in words who is hit.
func victims(v fault.Values) string {
	var words []string
	if client := v.Text("client"); client != "" {
		words = append(words, client)
	}
	if account := v.Text("account"); account != "" {
		words = append(words, account)
	}
	if len(words) == 0 {
		words = append(words, "everybody")
	}
	if t := v.Text("transport"); t != "" {
		words = append(words, "on "+strings.ToUpper(t))
	}
	if methods := split(v.Text("methods")); len(methods) > 0 {
		words = append(words, "for "+strings.Join(methods, ", "))
	}
	if object := v.Text("object"); object != "" {
		words = append(words, "about "+object)
	}
	if share := v.Fraction("share"); share > 0 && share < 1 {
		words = append(words, fmt.Sprintf("in %g %% of the calls", 100*share))
	}
	if n := v.Number("count"); n > 0 {
		words = append(words, fmt.Sprintf("(%d times)", n))
	}
	return strings.Join(words, " ")
}
