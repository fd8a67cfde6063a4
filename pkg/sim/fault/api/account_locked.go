package api

import (
	"cmp"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/fault"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/gate"
)

// accountLocked is an account that may not log in.
func accountLocked() *fault.Kind {
	return rulesFor(fault.Kind{
		Name:  "vcenter.account-locked",
		Short: "answers logins at a vCenter as those of a locked account",
		Long: `As after too many logins with a wrong password: whoever logs in is told
InvalidLogin, or 401 over REST, with the right password, too. Sessions that are
open stay open; with vcenter.session-expired, nobody is left.

vCenter does not tell a locked account from a wrong password, so clients must not
take it for the end of the world, or of a node.`,
		Params: []fault.Param{whose()[0]},
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
