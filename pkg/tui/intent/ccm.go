package intent

import "context"

// Args implements [Action].
func (RestartCCM) Args() []string { return []string{"ccm", "restart"} }

// Danger implements [Action]: it is ended in order.
func (RestartCCM) Danger() string { return "" }

// Do implements [Action].
func (RestartCCM) Do(ctx context.Context, s Sandbox) (string, error) {
	done, err := s.RestartCCM(ctx)
	if err != nil {
		return "", err
	}
	return "ccm: " + done.Message, nil
}
