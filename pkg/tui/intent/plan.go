package intent

import "github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"

// Plan asks what an injection would do. It changes nothing, so it is no [Action]: read-only mode lets it pass. The answer
// is for the form that asked.
type Plan struct{ api.InjectRequest }

func (Plan) intent() {}
