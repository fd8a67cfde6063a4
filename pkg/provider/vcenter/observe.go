package vcenter

import "time"

// Call is one call that was made to a vCenter.
type Call struct {
	// Method is the SOAP method ("FindByUuid") or the verb and path of a REST call, without identifiers
	// ("GET /com/vmware/cis/tagging/tag").
	Method string
	// Result is "ok", "error" for an answer that is a fault, "timeout", or "unreachable".
	Result string
	// Duration is from the request to the answer.
	Duration time.Duration
}
