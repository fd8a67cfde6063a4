package front

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"net/http"
	"strings"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/vcenter/guard"
)

// refuse answers in the vCenter's place, in the form that the client expects: what was refused, why, and what to try. The
// status is 403, but for a call of SOAP that was understood: SOAP wants 500 for a fault, and clients show what is in one with
// that status only.
func refuse(w http.ResponseWriter, r *http.Request, refusal *guard.Refusal) {
	why := refusal.Error()
	switch {
	case strings.HasPrefix(r.URL.Path, "/rest/"), strings.HasPrefix(r.URL.Path, "/api/"):
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusForbidden)
		message := map[string]any{"id": "vsphere-sandbox.write.refused", "default_message": why, "args": []string{}}
		// The only error is a client that has left.
		_ = json.NewEncoder(w).Encode(map[string]any{
			"type": "com.vmware.vapi.std.errors.unauthorized", "value": map[string]any{"messages": []any{message}},
		})
	case guard.SOAP(r):
		w.Header().Set("Content-Type", "text/xml; charset=utf-8")
		if refusal.Operation == "" {
			w.WriteHeader(http.StatusForbidden)
		} else {
			w.WriteHeader(http.StatusInternalServerError)
		}
		_, _ = w.Write(noPermission(why, refusal)) // as above
	default:
		http.Error(w, why, http.StatusForbidden)
	}
}

// noPermission is a fault of the vSphere API.
func noPermission(why string, refusal *guard.Refusal) []byte {
	escape := func(s string) string {
		var b bytes.Buffer
		_ = xml.EscapeText(&b, []byte(s)) // a buffer never fails
		return b.String()
	}
	object := ""
	if refusal.This.Value != "" {
		object = `<object type="` + escape(refusal.This.Type) + `">` + escape(refusal.This.Value) + `</object>`
	}
	return []byte(xml.Header +
		`<soapenv:Envelope xmlns:soapenv="http://schemas.xmlsoap.org/soap/envelope/" xmlns:xsd="http://www.w3.org/2001/XMLSchema"` +
		` xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance"><soapenv:Body><soapenv:Fault><faultcode>ServerFaultCode</faultcode>` +
		`<faultstring>` + escape(why) + `</faultstring><detail><NoPermissionFault xmlns="urn:vim25" xsi:type="NoPermission">` + object +
		`<privilegeId></privilegeId></NoPermissionFault></detail></soapenv:Fault></soapenv:Body></soapenv:Envelope>`)
}
