package engine

// Status is the state of a run, in the provider's words.
type Status uint8

// The eight states of a run. A run is admitted as Queued; Completed, Failed,
// Cancelled and Interrupted are terminal and never change again.
const (
	Queued Status = iota
	Running
	WaitingForApproval
	Stopping
	Completed
	Failed
	Cancelled
	Interrupted
	// Unknown is the state of a run that is not found. No run has it.
	Unknown
)

var statusNames = [...]string{
	Queued:             "queued",
	Running:            "running",
	WaitingForApproval: "waiting_for_approval",
	Stopping:           "stopping",
	Completed:          "completed",
	Failed:             "failed",
	Cancelled:          "cancelled",
	Interrupted:        "interrupted",
}

// String returns the provider's word for s, such as "waiting_for_approval".
func (s Status) String() string {
	if int(s) < len(statusNames) {
		return statusNames[s]
	}
	return "unknown"
}

// Terminal reports whether s is one of the four states that never change.
func (s Status) Terminal() bool { return s >= Completed && s < Unknown }

// ParseStatus returns the status that the provider calls name.
func ParseStatus(name string) (Status, bool) {
	for i, n := range statusNames {
		if n == name {
			return Status(i), true
		}
	}
	return 0, false
}
