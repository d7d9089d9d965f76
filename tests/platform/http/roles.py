"""Who may call what in a session, written by hand from what each role is for, and not read from the code.

An owner and an admin may call everything, finance what concerns money, support creates links, a developer has the keys,
client ids and webhooks, a viewer looks.
"""

from chalicelib.platform.access.people.records import Role

_EVERYBODY = """
    log_out me switch_account leave_account accept_invitation list_sessions revoke_session list_addresses choose_language
    ask_confirmation ask_to_add_wallet add_wallet remove_identity prove_by_password ask_to_prove_by_wallet prove_by_wallet
    ask_to_prove_by_passkey prove_by_passkey ask_to_register_passkey register_passkey list_passkeys rename_passkey
    remove_passkey list_requests read_request read_request_status read_receipt find_payments read_journal read_wallet_journal list_archived_requests
    list_transfers_of_request reclaim_commerce_calldata get_commerce_status look_up_secure_payment preview_fees
    list_transfers read_multicall_payout get_recurring list_recurring read_permit list_webhooks list_events list_next_events
    list_deliveries_of_event list_deliveries list_members list_invitations read_notifications read_account list_changes
    read_change withdraw_change
    list_client_ids_by_session read_client_id_by_session read_branding_by_session read_domain_by_session
    read_own_payee_destination look_up_own_payee_destination look_up_payout_destination
"""
_MONEY = """
    create_request update_request cancel_request refund_request accept_request propose_to_safe withdraw_payment_intent
    create_commerce_payment authorize_commerce_payment authorize_commerce_calldata charge_commerce_payment
    charge_commerce_calldata capture_commerce_payment capture_commerce_calldata void_commerce_payment
    void_commerce_calldata refund_commerce_payment refund_commerce_calldata create_multicall_payout create_payout create_payouts
    batch_payouts pay_out pay_out_by_former_path pay_batch activate_recurring change_recurring approve_change
    refuse_change keep_own_payee_destination change_own_payee_destination deactivate_own_payee_destination
"""
_LINKS = "create_secure_payment preview_secure_payment update_secure_payment cancel_secure_payment withdraw_intent"
_TECHNICAL = """
    create_api_key update_api_key revoke_api_key list_api_keys read_api_key create_client_id_by_session
    update_client_id_by_session revoke_client_id_by_session put_branding_by_session remove_branding_by_session
    put_domain_by_session remove_domain_by_session check_domain_by_session create_webhook toggle_webhook
    rotate_webhook_secret delete_webhook test_webhook redeliver redeliver_failed create_orchestrator list_orchestrators
    revoke_orchestrator
"""
_LOG = "read_audit"
_PEOPLE = """
    change_role remove_member end_sessions_of_member invite withdraw_invitation choose_notifications change_account
"""
_ALL = _EVERYBODY, _MONEY, _LINKS, _TECHNICAL, _LOG, _PEOPLE
MAY_CALL: dict[Role, frozenset[str]] = {
    role: frozenset(name for names in listed for name in names.split())
    for role, listed in {
        Role.OWNER: _ALL,
        Role.ADMIN: _ALL,
        Role.FINANCE: (_EVERYBODY, _MONEY, _LINKS, _LOG),
        Role.SUPPORT: (_EVERYBODY, _LINKS),
        Role.DEVELOPER: (_EVERYBODY, _TECHNICAL, _LOG),
        Role.VIEWER: (_EVERYBODY,),
    }.items()
}
"""The names of operations. What concerns owners is another rule (`check_manages`), beside the role for the operation."""
