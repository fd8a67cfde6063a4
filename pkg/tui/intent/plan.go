package intent

import "github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"

// Plan asks what an injection would do. It changes nothing, so it is no [Action]: read-only mode lets it pass. The answer
// is for the form that asked.
type Plan struct {
	api.InjectRequest
	// Ask tells the plan from others that the form asked for: answers may come in another order.
	Ask int
}

func (Plan) intent() {}
